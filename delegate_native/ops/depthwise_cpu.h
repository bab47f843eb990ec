// Depthwise convolutions on CPUs: four pixels of one slice per vector.
#ifndef QUADRA_OPS_DEPTHWISE_CPU_H_
#define QUADRA_OPS_DEPTHWISE_CPU_H_

#include "delegate_native/ops/op.h"
#include "delegate_native/ops/window.h"

namespace quadra {

// Strides of one or two, small windows.
bool IsWideDepthwise(const Window& window);
// Sets body and grid of a kernel that has the tensors, constants and numbers of the general text.
// `round`: results are rounded.
void MakeWideDepthwise(const Shape& out, const Window& window, bool round, KernelDesc* kernel);

}  // namespace quadra

#endif  // QUADRA_OPS_DEPTHWISE_CPU_H_
