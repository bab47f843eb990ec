// Compiles the programs of a plan, several at once, no kernel twice.
#ifndef QUADRA_RUNTIME_OPENCL_CL_PROGRAMS_H_
#define QUADRA_RUNTIME_OPENCL_CL_PROGRAMS_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "delegate_native/base/lean/mutex.h"
#include "delegate_native/base/program_binary.h"
#include "delegate_native/plan/plan_generated.h"
#include "delegate_native/runtime/opencl/cl_context.h"
#include "delegate_native/runtime/opencl/cl_host_device.h"

namespace quadra {

struct ClBuiltProgram {
  ClHandle<cl_program> program;
  std::unique_ptr<const ClCommonEntry> common;  // null: each kernel has an entry point
  std::vector<KernelHead> kernels;              // that it holds
  // Whether the driver took its kernels; else some launches may be refused.
  mutable std::atomic<bool> launched{false};
};
using ClProgram = std::shared_ptr<const ClBuiltProgram>;
// By a kernel's entry point, the program that holds it.
using ClKernelPrograms = std::map<std::string, ClProgram>;

// Keeps what it built: a second interpreter, another partition or a resized model finds it there.
class ClPrograms {
 public:
  explicit ClPrograms(std::shared_ptr<ClContext> context) : context_(std::move(context)) {}

  // Programs for all kernels of the plan, from what a driver once made of them (or null) where it
  // takes that. After an error those of the kernels that it did not compile are missing. Any
  // thread.
  Status Build(const fb::Plan& plan, const fb::Binaries* kept, ClKernelPrograms* programs,
               BinaryCount* count);
  // A program of one kernel alone, to see whether it compiles: nobody keeps it.
  Status Compile(const std::string& source, const std::string& options, const std::string& entries,
                 ClHandle<cl_program>* program) const;
  // The program as the driver compiled it: more than one where other plans had some of its kernels.
  void AddBinaries(const fb::Program& program, const ClKernelPrograms& programs,
                   std::vector<ProgramBinary>* binaries) const;

 private:
  struct Missing;

  ClProgram Find(const std::string& key);
  void Remember(const std::string& key, const ClProgram& program);
  Status BuildProgram(const fb::Program& program, const fb::Binaries* kept,
                      ClKernelPrograms* programs, BinaryCount* count);
  Status CompileMissing(const fb::Program& program, std::vector<Missing>* missing,
                        ClKernelPrograms* programs);
  void TakeKept(const fb::Program& program, const fb::ProgramBinary& kept,
                std::vector<Missing>* missing, ClKernelPrograms* programs, BinaryCount* count);
  void Give(const ClProgram& built, std::vector<Missing>* missing, ClKernelPrograms* programs);
  ClHandle<cl_program> FromBinary(const fb::ProgramBinary& binary,
                                  const std::string& options) const;
  std::vector<uint8_t> BytesOf(const ClBuiltProgram& built) const;

  std::shared_ptr<ClContext> context_;
  Mutex mutex_;
  std::map<std::string, ClProgram> built_;  // by options, prelude and kernel
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_CL_PROGRAMS_H_
