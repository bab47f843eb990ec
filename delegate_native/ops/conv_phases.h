// Transposed convolutions as plain ones: along each axis, the results at places stride * i + first
// are a convolution by some of the weights.
#ifndef QUADRA_OPS_CONV_PHASES_H_
#define QUADRA_OPS_CONV_PHASES_H_

#include "delegate_native/ops/conv_kernels.h"

namespace quadra {

// Which weights of an axis are the taps of a plain convolution: first + step * i.
struct Taps {
  int count = 1, first = 0, step = 1;
};

// How far apart neighbours along each axis lie in a constant of weights: output channels, the three
// axes of the window, input channels.
struct WeightSteps {
  int o, z, y, x, i;
};

// Weights [out_c][z][y][x][in_c] of those taps.
SharedFloats PickWeights(const Constant& constant, const WeightSteps& steps, int out_c, int in_c,
                         const Taps& z, const Taps& y, const Taps& x);

// Weight k of pixel i goes to the result stride * i + dilation * k - cut.
struct TransposedAxis {
  int kernel = 1, stride = 1, dilation = 1, out = 1, cut = 0;

  TransposedAxis() = default;
  // `cut` as TFLite does it: as if a convolution of the result were padded, same or valid.
  TransposedAxis(int kernel, int stride, int dilation, int out, bool same);
};

// Appends a kernel for each phase of the axes. `conv` knows everything else but the windows.
void AddPhases(const KernelContext& context, Conv conv, const ConstantData& weights,
               const WeightSteps& steps, const TransposedAxis& z, const TransposedAxis& y,
               const TransposedAxis& x, KernelList* list);

// The result of a node with the attribute `shape`, of which the first and the last number are
// known.
Status TakeShape(const Node& node, int rank, int items, int channels, Value* out);

}  // namespace quadra

#endif  // QUADRA_OPS_CONV_PHASES_H_
