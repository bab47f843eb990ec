// Compiles the programs of a plan, several at once, no kernel twice.
#ifndef QUADRA_RUNTIME_OPENCL_CL_PROGRAMS_H_
#define QUADRA_RUNTIME_OPENCL_CL_PROGRAMS_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "delegate_native/plan/plan_generated.h"
#include "delegate_native/runtime/opencl/cl_common_entry.h"
#include "delegate_native/runtime/opencl/cl_context.h"

namespace quadra {

struct ClBuiltProgram {
  ClHandle<cl_program> program;
  ClCommonEntry common;
};
using ClProgram = std::shared_ptr<const ClBuiltProgram>;
// By a kernel's entry point, the program that holds it.
using ClKernelPrograms = std::map<std::string, ClProgram>;

// Keeps what it built: a second interpreter, another partition or a resized model finds it there.
class ClPrograms {
 public:
  explicit ClPrograms(std::shared_ptr<ClContext> context) : context_(std::move(context)) {}

  // Programs for all kernels of the plan. Any thread.
  Status Build(const fb::Plan& plan, ClKernelPrograms* programs);

 private:
  ClProgram Find(const std::string& key);
  void Keep(const std::string& key, const ClProgram& program);
  Status BuildMissing(const fb::Program& program, ClKernelPrograms* programs);
  Status Compile(const std::string& source, const std::string& options, const std::string& entries,
                 ClCommonEntry common, ClProgram* built) const;

  std::shared_ptr<ClContext> context_;
  std::mutex mutex_;
  std::map<std::string, ClProgram> built_;  // by options, prelude and kernel
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_CL_PROGRAMS_H_
