// The window of a transposed convolution along its axes, for all ops that are one.
#ifndef QUADRA_OPS_TRANSPOSE_CONV_H_
#define QUADRA_OPS_TRANSPOSE_CONV_H_

#include "delegate_native/ops/conv_phases.h"

namespace quadra {

// A node with the attributes `stride` [y, x], `padding` and, unless the result is as large as the
// padding leaves it, its `shape`. Inputs: source and weights OHWI.
struct Transposed {
  TransposedAxis y, x;

  Transposed(const Graph& graph, const Node& node);
};
Status InferTransposed(Graph* graph, const Node& node);

}  // namespace quadra

#endif  // QUADRA_OPS_TRANSPOSE_CONV_H_
