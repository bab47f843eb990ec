// One entry point for all kernels of a program. PoCL compiles and links every entry point by
// itself, 45 ms each; bodies that are called through a common one are compiled together.
#ifndef QUADRA_RUNTIME_OPENCL_POCL_CL_COMMON_ENTRY_H_
#define QUADRA_RUNTIME_OPENCL_POCL_CL_COMMON_ENTRY_H_

#include <memory>
#include <string>
#include <vector>

#include "delegate_native/runtime/opencl/cl_host_device.h"

namespace quadra {

// Takes one struct of the kernel's number and of its own numbers, then as many buffers as any of
// them needs: PoCL copies every argument of every launch into memory of its own.
class ClNumberedEntry : public ClCommonEntry {
 public:
  const char* name() const override { return "run_kernel"; }
  const std::string& source() const override { return source_; }
  Status SetNumbers(ClContext* context, const fb::Dispatch& dispatch,
                    cl_kernel kernel) const override;

  // Without the kernel's own number.
  int numbers() const { return numbers_; }
  int buffers() const { return buffers_; }
  int NumberOf(const std::string& kernel) const;

 private:
  friend std::unique_ptr<const ClNumberedEntry> MakeCommonEntry(
      const std::vector<const fb::Kernel*>& kernels);
  std::string Call(const fb::Kernel& kernel);

  std::vector<std::string> kernels_;  // entry points of their own, in the order of their numbers
  std::string source_;
  int numbers_ = 0, buffers_ = 0;
};

// Null unless the bodies of all kernels can be called.
std::unique_ptr<const ClNumberedEntry> MakeCommonEntry(
    const std::vector<const fb::Kernel*>& kernels);

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_POCL_CL_COMMON_ENTRY_H_
