// Kernels that bring dense BHWC numbers into slices of four channels and back.
#ifndef QUADRA_OPS_BORDER_KERNELS_H_
#define QUADRA_OPS_BORDER_KERNELS_H_

#include "delegate_native/ops/op.h"

namespace quadra {

// Nodes that copy, or that make floats of an input's integers and integers of an output's floats on
// their way: their operand or their result is dense (Value::dense).
KernelDesc ToSlices(const KernelContext& context, const Graph& graph, const Node& node);
KernelDesc FromSlices(const KernelContext& context, const Graph& graph, const Node& node);

}  // namespace quadra

#endif  // QUADRA_OPS_BORDER_KERNELS_H_
