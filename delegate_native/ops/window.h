// Windows that slide over an image: padding, strides and output sizes of convolutions and pools.
#ifndef QUADRA_OPS_WINDOW_H_
#define QUADRA_OPS_WINDOW_H_

#include "delegate_native/base/shape.h"
#include "delegate_native/base/status.h"
#include "delegate_native/graph/attributes.h"
#include "delegate_native/tflite/builtin_params.h"

namespace quadra {

struct Window {
  int kernel_y = 1, kernel_x = 1;
  int stride_y = 1, stride_x = 1;
  int dilation_y = 1, dilation_x = 1;
  int pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  int out_h = 0, out_w = 0;
};

// Attributes `stride` [y, x], `dilation` [y, x], `padding` (same, valid) from TFLite's parameters.
Status SetWindow(TfLitePadding padding, int stride_y, int stride_x, int dilation_y, int dilation_x,
                 Attributes* attributes);

// The window of a node over an input: `padding` same and valid are resolved as TFLite does (the
// smaller half of an odd total goes first); `explicit` takes `pad` [top, bottom, left, right].
Status ResolveWindow(const Attributes& attributes, int kernel_y, int kernel_x, const Shape& input,
                     Window* window);

}  // namespace quadra

#endif  // QUADRA_OPS_WINDOW_H_
