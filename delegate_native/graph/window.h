// Windows that slide over an image: padding, strides and output sizes of convolutions and pools.
// The one place that resolves padding; passes and ops ask it.
#ifndef QUADRA_GRAPH_WINDOW_H_
#define QUADRA_GRAPH_WINDOW_H_

#include "delegate_native/base/shape.h"
#include "delegate_native/base/status.h"
#include "delegate_native/graph/attributes.h"

namespace quadra {

struct Window {
  int kernel_y = 1, kernel_x = 1;
  int stride_y = 1, stride_x = 1;
  int dilation_y = 1, dilation_x = 1;
  int pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  int out_h = 0, out_w = 0;

  bool pads() const { return pad_top > 0 || pad_bottom > 0 || pad_left > 0 || pad_right > 0; }
};

// The window of a node over an input. Attributes: `stride` [y, x], `dilation` [y, x] (1 where it is
// absent) and `padding`: same and valid are resolved as TFLite does (the smaller half of an odd
// total goes first); explicit takes `pad` [top, bottom, left, right].
Status ResolveWindow(const Attributes& attributes, int kernel_y, int kernel_x, const Shape& input,
                     Window* window);

// Padding of PAD and MIRROR_PAD before and after an axis of Shape (-2 to 3): their `amounts` are
// two numbers for each axis of the model's tensor.
struct Padding {
  int before = 0, after = 0;
};
Padding PaddingOf(const Attributes& attributes, int axis);

}  // namespace quadra

#endif  // QUADRA_GRAPH_WINDOW_H_
