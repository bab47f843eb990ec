// Custom op Convolution2DTransposeBias (MediaPipe): a transposed convolution with weights OHWI and
// bias. The result is (input - 1) * stride + kernel, less the padding of SAME, which follows from
// the input's size; the smaller half is cut before.
#include <algorithm>
#include <limits>

#include "delegate_native/ops/conv_kernels.h"
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

// The custom options: how TfLiteTransposeConvParams began when the op was made; files end here.
struct Options {
  TfLitePadding padding;
  int stride_width;
  int stride_height;
};

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 3));
  Options options;
  QUADRA_RETURN_IF_ERROR(importer->CopyCustomOptions(&options));
  // Each phase of the strides is a convolution of its own.
  constexpr int kMostPhases = 1024;
  const int height = options.stride_height, width = options.stride_width;
  if (height < 1 || width < 1 || int64_t{height} * width > kMostPhases) {
    return Unsupported(
        "its strides are %d and %d; positive ones whose product is at most %d are supported",
        height, width, kMostPhases);
  }
  std::vector<ValueId> inputs;
  QUADRA_RETURN_IF_ERROR(importer->WeightedOperands(&inputs));
  Attributes attributes;
  attributes.SetInts("stride", {options.stride_height, options.stride_width});
  QUADRA_RETURN_IF_ERROR(SetPadding(options.padding, &attributes));
  return importer->AddNode("transpose_conv", std::move(inputs), std::move(attributes));
}

// Size of the result along one axis.
Status OutputSize(int in, int kernel, int stride, bool same, int* out) {
  const int padding = same ? std::max(0, kernel - (in - 1) % stride - 1) : 0;
  const int64_t size = (int64_t{in} - 1) * stride + kernel - padding;
  if (size > INT32_MAX)
    return Unsupported("its result has %lld elements along one axis", static_cast<long long>(size));
  *out = static_cast<int>(size);
  return Status();
}

Status InferShape(Graph* graph, const Node& node) {
  const Shape& in = graph->shape(node.inputs[0]);
  const Shape& weights = graph->shape(node.inputs[1]);
  if (weights.c != in.c) {
    return InvalidModel("%d input channels do not fit weights %s", in.c, ToString(weights).c_str());
  }
  if (node.inputs.size() > 2 && graph->shape(node.inputs[2]).elements() != weights.b) {
    return InvalidModel("its bias has %lld values for %d channels",
                        static_cast<long long>(graph->shape(node.inputs[2]).elements()), weights.b);
  }
  const std::vector<int>& stride = node.attributes.Ints("stride");
  const bool same = node.attributes.Word("padding") == "same";
  Value& out = graph->value(node.outputs[0]);
  out.shape = {in.b, 0, 0, weights.b};
  QUADRA_RETURN_IF_ERROR(OutputSize(in.h, weights.h, stride[0], same, &out.shape.h));
  QUADRA_RETURN_IF_ERROR(OutputSize(in.w, weights.w, stride[1], same, &out.shape.w));
  out.rank = 4;
  return Status();
}

// Along one axis, the results at places step * i + first are a plain convolution with every
// step-th weight, backwards.
struct Phase {
  int first = 0;   // of the results
  int weight = 0;  // the first weight that meets them; then every step-th
  int count = 0;   // of those weights
  int pad = 0;     // of the plain convolution

  Phase(int first_result, int kernel, int step, int cut) : first(first_result) {
    weight = (first + cut) % step;
    count = weight < kernel ? CeilDiv(kernel - weight, step) : 0;
    pad = count - 1 - (first + cut - weight) / step;
  }
};

// Where the weights of an output channel and a tap begin.
std::ptrdiff_t PlaceOf(const Shape& weights, int o, int y, int x) {
  return ((std::ptrdiff_t{o} * weights.h + y) * weights.w + x) * weights.c;
}

// The weights [out][y][x][in] that meet the results of a phase.
SharedFloats Pick(const Constant& constant, const Shape& weights, const Phase& y, const Phase& x,
                  int step_y, int step_x) {
  const SharedFloats ohwi = constant.floats();
  std::vector<float> picked;
  for (int o = 0; o < weights.b; ++o) {
    for (int i = y.count - 1; i >= 0; --i) {
      for (int j = x.count - 1; j >= 0; --j) {
        const int ky = y.weight + i * step_y, kx = x.weight + j * step_x;
        const auto at = ohwi->begin() + PlaceOf(weights, o, ky, kx);
        picked.insert(picked.end(), at, at + weights.c);
      }
    }
  }
  return Share(std::move(picked));
}

// Weights [phase][out, filled up to `padded`][in] of one pixel, zeros where a phase has no weight.
SharedFloats PhasesAsChannels(const Constant& constant, const Shape& weights, int padded,
                              int step_x, int out_c) {
  const SharedFloats ohwi = constant.floats();
  std::vector<float> channels(static_cast<size_t>(out_c) * static_cast<size_t>(weights.c), 0.0f);
  for (int to = 0; to < out_c; ++to) {
    const int o = to % padded, y = to / padded / step_x, x = to / padded % step_x;
    if (o >= weights.b || y >= weights.h || x >= weights.w) continue;
    const auto from = ohwi->begin() + PlaceOf(weights, o, y, x);
    std::copy(from, from + weights.c,
              channels.begin() + static_cast<std::ptrdiff_t>(to) * weights.c);
  }
  return Share(std::move(channels));
}

// Weights no larger than the step: all results of a place come from one pixel, so that they are
// the channels of one pointwise convolution (quads [phase][slice]), placed by a second kernel.
bool IsPointwise(const Shape& in, const Shape& weights, const Shape& out,
                 const std::vector<int>& stride) {
  const int64_t channels = int64_t{stride[0]} * stride[1] * out.slices() * 4;
  return weights.h <= stride[0] && weights.w <= stride[1] && channels <= INT32_MAX &&
         FitsInts({in.b, in.h, in.w, static_cast<int>(channels)});
}

Status PointwiseKernels(const KernelContext& context, const Graph& graph, const Node& node,
                        KernelList* list) {
  const Shape& weights = graph.shape(node.inputs[1]);
  const Shape& out = graph.shape(node.outputs[0]);
  const int step_y = node.attributes.Ints("stride")[0], step_x = node.attributes.Ints("stride")[1];
  const int padded = out.slices() * 4;
  Conv conv;
  conv.name = "transpose_conv";
  conv.src = node.inputs[0];
  conv.in = graph.shape(conv.src);
  conv.out = {conv.in.b, conv.in.h, conv.in.w, step_y * step_x * padded};
  conv.dst = list->AddScratch(conv.out);
  conv.plane_as_row = true;
  conv.low = -std::numeric_limits<float>::infinity();
  conv.high = -conv.low;
  conv.weights = [constant = graph.value(node.inputs[1]).constant, weights, padded, step_x,
                  out_c = conv.out.c] {
    return PhasesAsChannels(*constant, weights, padded, step_x, out_c);
  };
  conv.bias.resize(static_cast<size_t>(conv.out.c), 0.0f);
  if (node.inputs.size() > 2) {
    const SharedFloats bias = graph.value(node.inputs[2]).constant->floats();
    for (int first = 0; first < conv.out.c; first += padded) {
      std::copy(bias->begin(), bias->end(), conv.bias.begin() + first);
    }
  }
  AddConv(context, conv, list);
  KernelDesc& place = list->Add("transpose_conv_place");
  place.Read("src", conv.dst);
  place.Write("dst", node.outputs[0]);
  place.Int("step_y", step_y);
  place.Int("step_x", step_x);
  Loops loops;
  loops.limits[0] = "src_w";
  loops.row = R"(
  int from_y = y / step_y;
  int b = s / dst_s;
  int from_s = b * src_s + (y - from_y * step_y) * step_x * dst_s + s - b * dst_s;
)";
  loops.pixel = R"(
    for (int k = 0; k < step_x; ++k) {
      if (x * step_x + k < dst_w) {
        write_dst(read_src(x, from_y, from_s + k * dst_s), x * step_x + k, y, s);
      }
    }
)";
  LoopOver(context, conv.in.w, out.h, out.slices() * out.b, loops, &place);
  return Status();
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& weights = graph.value(node.inputs[1]);
  const std::vector<int>& stride = node.attributes.Ints("stride");
  if (IsPointwise(graph.shape(node.inputs[0]), weights.shape, graph.shape(node.outputs[0]),
                  stride)) {
    return PointwiseKernels(context, graph, node, list);
  }
  Conv conv;
  conv.name = "transpose_conv";
  conv.src = node.inputs[0];
  conv.dst = node.outputs[0];
  conv.in = graph.shape(conv.src);
  conv.out = graph.shape(conv.dst);
  conv.step_y = stride[0];
  conv.step_x = stride[1];
  if (node.inputs.size() > 2) conv.bias = *graph.value(node.inputs[2]).constant->floats();
  list->steps_taken = TakeClamp(node, &conv.low, &conv.high);
  conv.plain = list->steps_taken == static_cast<int>(node.fused.size());
  const int cut_y = std::max(0, (conv.in.h - 1) * stride[0] + weights.shape.h - conv.out.h) / 2;
  const int cut_x = std::max(0, (conv.in.w - 1) * stride[1] + weights.shape.w - conv.out.w) / 2;
  for (int fy = 0; fy < stride[0]; ++fy) {
    for (int fx = 0; fx < stride[1]; ++fx) {
      const Phase y(fy, weights.shape.h, stride[0], cut_y),
          x(fx, weights.shape.w, stride[1], cut_x);
      conv.first_y = fy;
      conv.first_x = fx;
      conv.window.kernel_y = y.count;
      conv.window.kernel_x = x.count;
      conv.window.pad_top = y.pad;
      conv.window.pad_left = x.pad;
      conv.weights = [constant = weights.constant, shape = weights.shape, y, x, stride] {
        return Pick(*constant, shape, y, x, stride[0], stride[1]);
      };
      if (conv.grid_h() == 0 || conv.grid_w() == 0) continue;
      AddConv(context, conv, list);
    }
  }
  return Status();
}

}  // namespace

extern const Op kTransposeConvOp;
const Op kTransposeConvOp = {
    .name = "transpose_conv",
    .custom = "Convolution2DTransposeBias",
    .max_version = 1,
    .attributes = "stride padding",
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .convolution = Convolution::kTransposed,
};

}  // namespace quadra
