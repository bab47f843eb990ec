// Kernels that bring dense BHWC numbers into slices of four channels and back.
#ifndef QUADRA_PLAN_IO_KERNELS_H_
#define QUADRA_PLAN_IO_KERNELS_H_

#include "delegate_native/ops/op.h"

namespace quadra {

// `dequantize`: the node that makes floats of the input's integers, which the same kernel does;
// `quantize`: the one that makes an output's integers.
KernelDesc ToSlices(const KernelContext& context, const Value& made, int dense, int slices,
                    const Node* dequantize = nullptr);
KernelDesc FromSlices(const KernelContext& context, const Shape& shape, int slices, int dense,
                      const Node* quantize = nullptr);

}  // namespace quadra

#endif  // QUADRA_PLAN_IO_KERNELS_H_
