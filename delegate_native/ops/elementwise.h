// What all elementwise ops share: numpy's broadcasting, the step text that can be merged into any
// producer, and the kernel that runs a step by itself.
#ifndef QUADRA_OPS_ELEMENTWISE_H_
#define QUADRA_OPS_ELEMENTWISE_H_

#include "delegate_native/ops/op.h"

namespace quadra {

// Output shape of a node by numpy's rules over all its inputs.
Status BroadcastShape(Graph* graph, const Node& node);
// One kernel that reads the operands, computes the op's formula and writes.
Status ElementwiseKernels(const KernelContext& context, const Graph& graph, const Node& node,
                          KernelList* list);

// The result for constant ints; null where numbers are too large or have more axes than sizes do.
ConstantData FoldElementwise(const Op& op, const Graph& graph, const Node& node);

// If the first merged step is a clamp, gives its limits and returns 1 (steps taken); else sets
// -inf, +inf and returns 0. For kernels that clamp in registers with limits as arguments.
int TakeClamp(const Node& node, float* low, float* high);
// Appends node.fused[first…] to the kernel's epilogue.
Status AttachEpilogue(const Graph& graph, const Node& node, int first, KernelDesc* desc);
// True when every operand of the merged steps has the output's full shape or is one pixel: then
// a kernel may address the output as one long row (x = y * width + x, y = 0).
bool EpilogueAllowsPlaneAsRow(const Graph& graph, const Node& node);

// The ops that are a row of elementwise_list.cc.
extern const Op kElementwiseOps[];
extern const size_t kElementwiseOpCount;

}  // namespace quadra

#endif  // QUADRA_OPS_ELEMENTWISE_H_
