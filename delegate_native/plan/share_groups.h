// Kernels of one text take one group where that is about as good as one each: a group is part of
// the text, and each text is a program that a phone compiles when an app starts.
#ifndef QUADRA_PLAN_SHARE_GROUPS_H_
#define QUADRA_PLAN_SHARE_GROUPS_H_

#include <vector>

#include "delegate_native/device/gpu_info.h"
#include "delegate_native/kernel/kernel.h"

namespace quadra {

// Sets groups of kernels that came with those that are best for each alone.
void ShareGroups(const GpuInfo& gpu, std::vector<KernelDesc>* kernels);

}  // namespace quadra

#endif  // QUADRA_PLAN_SHARE_GROUPS_H_
