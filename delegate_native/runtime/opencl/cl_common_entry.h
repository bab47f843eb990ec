// One entry point for all kernels of a program. PoCL compiles and links every entry point by
// itself, 45 ms each; bodies that are called through a common one are compiled together.
#ifndef QUADRA_RUNTIME_OPENCL_CL_COMMON_ENTRY_H_
#define QUADRA_RUNTIME_OPENCL_CL_COMMON_ENTRY_H_

#include <string>
#include <vector>

#include "delegate_native/plan/plan_generated.h"

namespace quadra {

// Takes one struct of the kernel's number and of its own numbers, then as many buffers as any of
// them needs: PoCL copies every argument of every launch into memory of its own.
struct ClCommonEntry {
  std::vector<std::string> kernels;  // entry points of their own, in the order of their numbers
  std::string source;
  int numbers = 0, buffers = 0;  // without the kernel's own number

  static const char* name() { return "run_kernel"; }
  bool empty() const { return kernels.empty(); }
  int NumberOf(const std::string& kernel) const;
};

// Empty unless the bodies of all kernels can be called.
ClCommonEntry MakeCommonEntry(const std::vector<const fb::Kernel*>& kernels);

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_CL_COMMON_ENTRY_H_
