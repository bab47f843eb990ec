// Limits of a device, checked before anything is compiled: one place, one sentence for each
// limit.
#ifndef QUADRA_OPS_LIMITS_H_
#define QUADRA_OPS_LIMITS_H_

#include <vector>

#include "delegate_native/ops/op.h"

namespace quadra {

// Makes the group as small as the device wants it; a group that shares memory stays as it is.
void FitGroup(const GpuInfo& gpu, KernelDesc* desc);

// Unsupported when the device cannot take the kernel; says what is needed, what is allowed and what
// helps. `layouts` runs parallel to desc.tensors.
Status CheckLimits(const KernelContext& context, const KernelDesc& desc,
                   const std::vector<TensorLayout>& layouts);

}  // namespace quadra

#endif  // QUADRA_OPS_LIMITS_H_
