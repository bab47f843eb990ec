// What a transposed convolution is along its axes, for the ops that are one.
#ifndef QUADRA_OPS_TRANSPOSE_CONV_H_
#define QUADRA_OPS_TRANSPOSE_CONV_H_

#include "delegate_native/ops/op.h"

namespace quadra {

// One axis: weight k of pixel i goes to the result stride * i + k - cut.
struct TransposedAxis {
  int stride = 1, cut = 0;

  // As TFLite does: by the result's size, like the padding of a convolution of it.
  TransposedAxis(int stride, int kernel, int out, bool same);
};

// The results at places stride * i + first of an axis: a plain convolution by every step-th weight,
// the last one first. Weights meet pixels that are `dilation` apart.
struct Phase {
  int first = 0;
  int weight = 0, step = 1, count = 0;  // the first weight that meets them; how many there are
  int dilation = 1, pad = 0;            // of the plain convolution

  Phase(int first, int kernel, int dilation, const TransposedAxis& axis);
  // The weight that is the plain convolution's tap `i`.
  int WeightOf(int i) const { return weight + (count - 1 - i) * step; }
};

// A node with the attributes `stride` [y, x], `padding` and, unless the result is as large as the
// padding leaves it, its `shape`. Inputs: source and weights OHWI.
struct Transposed {
  TransposedAxis y, x;

  Transposed(const Graph& graph, const Node& node);
};
Status InferTransposed(Graph* graph, const Node& node);

}  // namespace quadra

#endif  // QUADRA_OPS_TRANSPOSE_CONV_H_
