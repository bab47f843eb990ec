// One entry point for all kernels of a program. PoCL compiles and links every entry point by
// itself, 45 ms each; bodies that are called through a common one are compiled together.
#ifndef QUADRA_RUNTIME_OPENCL_CL_COMMON_ENTRY_H_
#define QUADRA_RUNTIME_OPENCL_CL_COMMON_ENTRY_H_

#include <string>
#include <vector>

#include "delegate_native/plan/plan_generated.h"

namespace quadra {

// Takes the number of a kernel, then as many buffers, ints and floats as any of them needs.
struct ClCommonEntry {
  std::vector<std::string> kernels;  // entry points of their own, in the order of their numbers
  std::string source;
  int buffers = 0, ints = 0, floats = 0;

  static const char* name() { return "run_kernel"; }
  bool empty() const { return kernels.empty(); }
  int NumberOf(const std::string& kernel) const;
};

// Empty unless the bodies of all kernels can be called.
ClCommonEntry MakeCommonEntry(const std::vector<const fb::Kernel*>& kernels);

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_CL_COMMON_ENTRY_H_
