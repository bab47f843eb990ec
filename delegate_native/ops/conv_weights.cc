// The weights and numbers of convolutions, as their kernels read them.
#include <algorithm>

#include "delegate_native/base/status.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/conv_kernels.h"

namespace quadra {

int SlicesOfBlock(const Conv& conv, int lanes) {
  int most = 1;
  for (int channel = 0; channel < conv.out.c; channel += lanes) {
    const int last = std::min(channel + lanes, conv.out.c) - 1;
    const int end = CeilDiv((last / conv.group_out() + 1) * conv.group_in(), 4);
    most = std::max(most, end - channel / conv.group_out() * conv.group_in() / 4);
  }
  return most;
}

std::string FindFirstSlice(const char* channel) {
  return Text(QUADRA_TEXT(
                  "int first_s = min($channel / group_out * group_in / 4, src_s - group_s);\n"))
      .Set("channel", channel);
}

void AddGroupNumbers(const Conv& conv, int lanes, KernelDesc* kernel) {
  kernel->Int("group_in", conv.group_in());
  kernel->Int("group_out", conv.group_out());
  kernel->Int("group_s", SlicesOfBlock(conv, lanes));
}

void AddConvNumbers(const Conv& conv, KernelDesc* kernel) {
  const Window& window = conv.window;
  kernel->Int("kernel_x", window.kernel_x);
  kernel->Int("kernel_y", window.kernel_y);
  kernel->Int("stride_x", window.stride_x);
  kernel->Int("stride_y", window.stride_y);
  kernel->Int("dilation_x", window.dilation_x);
  kernel->Int("dilation_y", window.dilation_y);
  kernel->Int("pad_x", window.pad_left);
  kernel->Int("pad_y", window.pad_top);
  if (conv.scattered()) {
    kernel->Int("step_x", conv.step_x);
    kernel->Int("step_y", conv.step_y);
    kernel->Int("first_x", conv.first_x);
    kernel->Int("first_y", conv.first_y);
  }
  conv.bounds.AddNumbers(kernel);
}

int64_t PackedFloats(const Conv& conv, int lanes, int in_c) {
  const int64_t taps = std::max(1, conv.taps());
  return int64_t{conv.matrices} * CeilDiv(conv.out.c, lanes) * taps * in_c * lanes;
}

std::vector<float> BiasOf(const Conv& conv, int count) {
  std::vector<float> bias = conv.bias;
  bias.resize(static_cast<size_t>(count), 0.0f);
  return bias;
}

std::vector<float> PackConvWeights(const Conv& conv, int lanes, int in_c) {
  const int taps = conv.taps();
  // A phase of a transposed convolution may have no tap; a constant has at least one row.
  const size_t rows = static_cast<size_t>(std::max(1, taps)) * static_cast<size_t>(in_c);
  std::vector<float> packed(static_cast<size_t>(PackedFloats(conv, lanes, in_c)), 0.0f);
  const SharedFloats weights = conv.weights();
  const float* from = weights->data();
  const int last_s = conv.groups > 1 ? conv.in.slices() - SlicesOfBlock(conv, lanes) : 0;
  for (int n = 0; n < conv.matrices * conv.out.c; ++n) {
    const int o = n % conv.out.c;
    const int block = n / conv.out.c * CeilDiv(conv.out.c, lanes) + o / lanes;
    const int first_s = o / lanes * lanes / conv.group_out() * conv.group_in() / 4;
    // The group's first channel among those that the block reads.
    const int first = o / conv.group_out() * conv.group_in() - 4 * std::min(first_s, last_s);
    for (int t = 0; t < taps; ++t) {
      float* to =
          &packed[(static_cast<size_t>(block) * rows + static_cast<size_t>(t * in_c + first)) *
                      static_cast<size_t>(lanes) +
                  static_cast<size_t>(o % lanes)];
      for (int i = 0; i < conv.group_in(); ++i) to[std::ptrdiff_t{i} * lanes] = *from++;
    }
  }
  return packed;
}

}  // namespace quadra
