// The part that all elementwise ops share: numpy's broadcasting, the step text that can be merged
// into any producer, and the kernel that runs a step by itself.
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

// Work on a kernel's results in registers, instead of the first merged steps: a clamp, the
// rounding of a quantised tensor (then low and high count its steps), or both.
struct Bounds {
  float low, high;
  float scale = 0.0f, inverse = 0.0f;

  Bounds();  // none
  bool round() const { return scale > 0.0f; }
  // The arguments that the texts name.
  void AddNumbers(KernelDesc* kernel) const;
};
// The node's; returns how many steps that is.
int TakeBounds(const Node& node, Bounds* bounds);
// The expression of four numbers within the bounds; in_half: of a medium4_t.
std::string Bounded(bool round, const std::string& sum, bool in_half = false);

// Appends node.fused[first…] to the kernel's epilogue.
Status AttachEpilogue(const KernelContext& context, const Graph& graph, const Node& node, int first,
                      KernelDesc* desc);
// True when every operand of the merged steps has the output's full shape or is one pixel: then
// a kernel may address the output as one long row (x = y * width + x, y = 0).
bool EpilogueAllowsPlaneAsRow(const Graph& graph, const Node& node);

// The ops that are a row of elementwise_list.cc.
extern const Op kElementwiseOps[];
extern const size_t kElementwiseOpCount;

}  // namespace quadra

#endif  // QUADRA_OPS_ELEMENTWISE_H_
