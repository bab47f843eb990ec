#include "delegate_native/ops/window.h"

#include <algorithm>

namespace quadra {
namespace {

// One axis: fills the output size and, for `same`, the padding.
Status ResolveAxis(const std::string& padding, int in, int kernel, int stride, int dilation,
                   int* before, int* after, int* out) {
  const int reach = (kernel - 1) * dilation + 1;
  if (padding == "same") {
    *out = CeilDiv(in, stride);
    const int total = std::max(0, (*out - 1) * stride + reach - in);
    *before = total / 2;
    *after = total - *before;
    return Status();
  }
  const int room = in + *before + *after - reach;
  if (room < 0) return InvalidModel("a window of %d does not fit into %d", reach, in);
  *out = room / stride + 1;
  return Status();
}

}  // namespace

Status SetWindow(TfLitePadding padding, int stride_y, int stride_x, int dilation_y, int dilation_x,
                 Attributes* attributes) {
  if (padding != kTfLitePaddingSame && padding != kTfLitePaddingValid) {
    return InvalidModel("its padding has the unknown code %d", padding);
  }
  if (stride_y < 1 || stride_x < 1 || dilation_y < 1 || dilation_x < 1) {
    return InvalidModel("its strides (%d, %d) and dilations (%d, %d) must be positive", stride_y,
                        stride_x, dilation_y, dilation_x);
  }
  attributes->SetWord("padding", padding == kTfLitePaddingSame ? "same" : "valid");
  attributes->SetInts("stride", {stride_y, stride_x});
  attributes->SetInts("dilation", {dilation_y, dilation_x});
  return Status();
}

Status ResolveWindow(const Attributes& attributes, int kernel_y, int kernel_x, const Shape& input,
                     Window* window) {
  const auto pair = [&](const char* name, int* y, int* x) {
    const std::vector<int>& values = attributes.Ints(name);
    if (values.size() == 2) *y = values[0], *x = values[1];
  };
  window->kernel_y = kernel_y;
  window->kernel_x = kernel_x;
  pair("stride", &window->stride_y, &window->stride_x);
  pair("dilation", &window->dilation_y, &window->dilation_x);
  const std::vector<int>& pad = attributes.Ints("pad");
  const std::string& padding = attributes.Word("padding");
  if (padding == "explicit" && pad.size() == 4) {
    window->pad_top = pad[0], window->pad_bottom = pad[1];
    window->pad_left = pad[2], window->pad_right = pad[3];
  }
  QUADRA_RETURN_IF_ERROR(ResolveAxis(padding, input.h, kernel_y, window->stride_y,
                                     window->dilation_y, &window->pad_top, &window->pad_bottom,
                                     &window->out_h));
  return ResolveAxis(padding, input.w, kernel_x, window->stride_x, window->dilation_x,
                     &window->pad_left, &window->pad_right, &window->out_w);
}

}  // namespace quadra
