#include "delegate_native/ops/conv_phases.h"

#include <algorithm>
#include <utility>

#include "delegate_native/ops/axes.h"

namespace quadra {
namespace {

// A phase along an axis: taps are its weights from the last to the first.
struct Phase {
  Taps taps;
  int dilation = 1, pad = 0;

  Phase(const TransposedAxis& axis, int first) {
    // Weight k meets pixel (first + cut - k * dilation) / stride, if that is a whole number: it is
    // again `step` weights later.
    const int64_t at = int64_t{first} + axis.cut;
    const auto meets = [&](int64_t n) { return n % axis.stride == 0; };
    int step = 1, weight = 0;
    while (!meets(int64_t{step} * axis.dilation)) ++step;
    while (weight < step && !meets(at - int64_t{weight} * axis.dilation)) ++weight;
    const bool none = weight == step || weight >= axis.kernel;
    taps.count = none ? 0 : CeilDiv(axis.kernel - weight, step);
    taps.first = weight + (taps.count - 1) * step;
    taps.step = -step;
    dilation = static_cast<int>(int64_t{step} * axis.dilation / axis.stride);
    pad = (taps.count - 1) * dilation -
          static_cast<int>((at - int64_t{weight} * axis.dilation) / axis.stride);
  }

  void Set(int* kernel, int* apart, int* before) const {
    *kernel = taps.count;
    *apart = dilation;
    *before = pad;
  }
};

}  // namespace

SharedFloats PickWeights(const Constant& constant, const WeightSteps& steps, int out_c, int in_c,
                         const Taps& z, const Taps& y, const Taps& x) {
  const SharedFloats all = constant.floats();
  std::vector<float> picked;
  for (int o = 0; o < out_c; ++o) {
    for (int tap = 0; tap < z.count * y.count * x.count; ++tap) {
      const int i = z.first + tap / (y.count * x.count) * z.step;
      const int j = y.first + tap / x.count % y.count * y.step;
      const int k = x.first + tap % x.count * x.step;
      const float* from = all->data() + std::ptrdiff_t{o} * steps.o + std::ptrdiff_t{i} * steps.z +
                          std::ptrdiff_t{j} * steps.y + std::ptrdiff_t{k} * steps.x;
      for (int c = 0; c < in_c; ++c) picked.push_back(from[std::ptrdiff_t{c} * steps.i]);
    }
  }
  return Share(std::move(picked));
}

TransposedAxis::TransposedAxis(int taps, int step, int apart, int size, bool same)
    : kernel(taps), stride(std::min(step, 1 << 30)), dilation(apart), out(size) {
  const int64_t reach = (int64_t{kernel} - 1) * dilation + 1;
  const int64_t places = same ? CeilDiv(out, step) : (int64_t{out} + step - reach) / step;
  cut = static_cast<int>(std::max(int64_t{0}, (places - 1) * step + reach - out) / 2);
}

void AddPhases(const KernelContext& context, Conv conv, const ConstantData& weights,
               const WeightSteps& steps, const TransposedAxis& z, const TransposedAxis& y,
               const TransposedAxis& x, KernelList* list) {
  conv.step_z = z.stride, conv.step_y = y.stride, conv.step_x = x.stride;
  const auto phases = [](const TransposedAxis& axis) { return std::min(axis.stride, axis.out); };
  for (int i = 0; i < phases(z) * phases(y) * phases(x); ++i) {
    conv.first_z = i / phases(x) / phases(y);
    conv.first_y = i / phases(x) % phases(y);
    conv.first_x = i % phases(x);
    const Phase at_z(z, conv.first_z), at_y(y, conv.first_y), at_x(x, conv.first_x);
    at_z.Set(&conv.depth.kernel_y, &conv.depth.dilation_y, &conv.depth.pad_top);
    at_y.Set(&conv.window.kernel_y, &conv.window.dilation_y, &conv.window.pad_top);
    at_x.Set(&conv.window.kernel_x, &conv.window.dilation_x, &conv.window.pad_left);
    conv.weights = [weights, steps, out_c = conv.out.c, in_c = conv.in.c, z = at_z.taps,
                    y = at_y.taps,
                    x = at_x.taps] { return PickWeights(*weights, steps, out_c, in_c, z, y, x); };
    AddConv(context, conv, list);
  }
}

Status TakeShape(const Node& node, int rank, int items, int channels, Value* out) {
  const std::vector<int>& shape = node.attributes.Ints("shape");
  const bool fits = static_cast<int>(shape.size()) == rank && shape.front() == items &&
                    shape.back() == channels && *std::min_element(shape.begin(), shape.end()) > 0;
  if (fits) return SetDims(shape, out);
  return InvalidModel("the shape of its result does not fit %d items of %d channels", items,
                      channels);
}

}  // namespace quadra
