#include "delegate_native/graph/window.h"

#include <algorithm>

namespace quadra {
namespace {

// One axis: fills the output size and, for `same`, the padding.
Status ResolveAxis(const std::string& padding, int in, int kernel, int dilation, int* stride,
                   int* before, int* after, int* out) {
  // Places in a padded image are ints, and so is the sum of two of them.
  constexpr int64_t kMost = INT32_MAX / 4;
  const int64_t reach = (int64_t{kernel} - 1) * dilation + 1;
  if (reach > kMost || *before > kMost || *after > kMost) {
    return Unsupported("its window of %lld with padding %d and %d is beyond %lld",
                       static_cast<long long>(reach), *before, *after,
                       static_cast<long long>(kMost));
  }
  if (padding == "same") {
    *out = CeilDiv(in, *stride);
    const int64_t total = std::max(int64_t{0}, (int64_t{*out} - 1) * *stride + reach - in);
    *before = static_cast<int>(total / 2);
    *after = static_cast<int>(total - *before);
  } else {
    const int64_t room = int64_t{in} + *before + *after - reach;
    if (room < 0)
      return InvalidModel("a window of %lld does not fit into %d", static_cast<long long>(reach),
                          in);
    *out = static_cast<int>(room / *stride) + 1;
  }
  // A window that does not move: any stride is right, and this one cannot overflow in a kernel.
  if (*out == 1 && *stride > in) *stride = 1;
  return Status();
}

}  // namespace

Status ResolveWindow(const Attributes& attributes, int kernel_y, int kernel_x, const Shape& input,
                     Window* window) {
  const auto pair = [&](const char* name, int* y, int* x) {
    const std::vector<int>& values = attributes.Ints(name);
    if (values.size() == 2) *y = values[0], *x = values[1];
  };
  window->kernel_y = kernel_y;
  window->kernel_x = kernel_x;
  pair("stride", &window->stride_y, &window->stride_x);
  if (attributes.Has("dilation")) pair("dilation", &window->dilation_y, &window->dilation_x);
  const std::string& padding = attributes.Word("padding");
  if (padding == "explicit") {
    const std::vector<int>& pad = attributes.Ints("pad");
    if (pad.size() != 4) return Internal("its attribute 'pad' has %zu numbers, not 4", pad.size());
    window->pad_top = pad[0], window->pad_bottom = pad[1];
    window->pad_left = pad[2], window->pad_right = pad[3];
  }
  QUADRA_RETURN_IF_ERROR(ResolveAxis(padding, input.h, kernel_y, window->dilation_y,
                                     &window->stride_y, &window->pad_top, &window->pad_bottom,
                                     &window->out_h));
  return ResolveAxis(padding, input.w, kernel_x, window->dilation_x, &window->stride_x,
                     &window->pad_left, &window->pad_right, &window->out_w);
}

Padding PaddingOf(const Attributes& attributes, int axis) {
  const std::vector<int>& amounts = attributes.Ints("amounts");
  const int from_behind = 2 * (4 - axis), count = static_cast<int>(amounts.size());
  if (from_behind > count) return {};
  const int* both = amounts.data() + count - from_behind;
  return {both[0], both[1]};
}

}  // namespace quadra
