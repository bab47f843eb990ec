// Compiles the programs of a plan, several at once, none twice.
#ifndef QUADRA_RUNTIME_OPENCL_CL_PROGRAMS_H_
#define QUADRA_RUNTIME_OPENCL_CL_PROGRAMS_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "delegate_native/plan/plan_generated.h"
#include "delegate_native/runtime/opencl/cl_context.h"

namespace quadra {

using ClProgram = std::shared_ptr<const ClHandle<cl_program>>;

// Keeps what it built: a second interpreter, another partition or a resized model finds it there.
class ClPrograms {
 public:
  explicit ClPrograms(std::shared_ptr<ClContext> context) : context_(std::move(context)) {}

  // `programs` runs parallel to plan->programs(). Any thread.
  Status Build(const fb::Plan& plan, std::vector<ClProgram>* programs);

 private:
  ClProgram Find(const std::string& text);
  void Keep(const std::string& text, const ClProgram& program);
  Status Compile(const fb::Program& program, const std::string& source, ClProgram* built) const;

  std::shared_ptr<ClContext> context_;
  std::mutex mutex_;
  std::map<std::string, ClProgram> built_;  // by options and source
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_CL_PROGRAMS_H_
