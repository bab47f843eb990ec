// TRANSPOSE_CONV: weights OHWI, each pixel times them added to the results around stride * pixel;
// the file gives the results' shape. And MediaPipe's custom op Convolution2DTransposeBias, whose
// result is (input - 1) * stride + kernel, less the padding of SAME.
#include "delegate_native/ops/transpose_conv.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "delegate_native/ops/computed_conv.h"
#include "delegate_native/ops/conv_kernels.h"
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/window.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

// Each phase of the strides is a convolution of its own, of constant weights. Where they are many,
// or the weights are computed, each result looks for its weights.
Status AddTransposed(Importer* importer, int src, int bias, Attributes attributes,
                     TfLiteFusedActivation activation) {
  constexpr int kMostPhases = 1024;
  const std::vector<int>& stride = attributes.Ints("stride");
  std::vector<ValueId> inputs(1);
  if (HasComputedWeights(*importer, bias) || int64_t{stride[0]} * stride[1] > kMostPhases) {
    QUADRA_RETURN_IF_ERROR(importer->Operand(src, &inputs[0]));
    return AddComputed(importer, "computed_transpose_conv", inputs[0], std::move(attributes),
                       activation, bias);
  }
  QUADRA_RETURN_IF_ERROR(importer->WeightedOperands(&inputs, src, bias));
  return importer->AddNode("transpose_conv", std::move(inputs), std::move(attributes), activation);
}

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 4));
  const TfLiteTransposeConvParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(
      SetWindow(params->padding, params->stride_height, params->stride_width, 1, 1, &attributes));
  std::vector<int> shape;
  QUADRA_RETURN_IF_ERROR(importer->ConstantInts(0, &shape));
  if (shape.size() != 4) return InvalidModel("its result has rank %zu, not 4", shape.size());
  attributes.SetInts("shape", std::move(shape));
  return AddTransposed(importer, /*src=*/2, /*bias=*/3, std::move(attributes), params->activation);
}

// The custom options: how TfLiteTransposeConvParams began when the op was made; files end here.
struct Options {
  TfLitePadding padding;
  int stride_width;
  int stride_height;
};

Status ImportCustom(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 3));
  Options options;
  QUADRA_RETURN_IF_ERROR(importer->CopyCustomOptions(&options));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(
      SetWindow(options.padding, options.stride_height, options.stride_width, 1, 1, &attributes));
  return AddTransposed(importer, /*src=*/0, /*bias=*/2, std::move(attributes), kTfLiteActNone);
}

// Size of the custom op's result along one axis.
Status OutputSize(int in, int kernel, int stride, bool same, int* out) {
  const int padding = same ? std::max(0, kernel - (in - 1) % stride - 1) : 0;
  const int64_t size = (int64_t{in} - 1) * stride + kernel - padding;
  if (size > INT32_MAX)
    return Unsupported("its result has %lld elements along one axis", static_cast<long long>(size));
  *out = static_cast<int>(size);
  return Status();
}

}  // namespace

TransposedAxis::TransposedAxis(int step, int kernel, int out, bool same)
    : stride(std::min(step, 1 << 30)) {
  const int64_t places = same ? CeilDiv(out, step) : (int64_t{out} + step - kernel) / step;
  const int64_t total = (places - 1) * step + kernel - out;
  cut = static_cast<int>(std::max(int64_t{0}, total) / 2);
}

Phase::Phase(int first_result, int kernel, int apart, const TransposedAxis& axis)
    : first(first_result) {
  // Weight k meets pixel (first + cut - k * apart) / stride, if that is a whole number: it is again
  // a step later, where the product with `apart` is the next multiple of the stride.
  const int64_t at = int64_t{first} + axis.cut;
  while (step < axis.stride && int64_t{step} * apart % axis.stride != 0) ++step;
  while (weight < step && (at - int64_t{weight} * apart) % axis.stride != 0) ++weight;
  dilation = static_cast<int>(int64_t{step} * apart / axis.stride);
  if (weight < step && weight < kernel) count = CeilDiv(kernel - weight, step);
  pad = (count - 1) * dilation - static_cast<int>((at - int64_t{weight} * apart) / axis.stride);
}

Transposed::Transposed(const Graph& graph, const Node& node)
    : y(node.attributes.Ints("stride")[0], graph.shape(node.inputs[1]).h,
        graph.shape(node.outputs[0]).h, node.attributes.Word("padding") == "same"),
      x(node.attributes.Ints("stride")[1], graph.shape(node.inputs[1]).w,
        graph.shape(node.outputs[0]).w, node.attributes.Word("padding") == "same") {}

Status InferTransposed(Graph* graph, const Node& node) {
  const Shape& in = graph->shape(node.inputs[0]);
  const Shape& weights = graph->shape(node.inputs[1]);
  if (weights.c != in.c) {
    return InvalidModel("%d input channels do not fit weights %s", in.c, ToString(weights).c_str());
  }
  QUADRA_RETURN_IF_ERROR(CheckBias(*graph, node, weights.b));
  const std::vector<int>& stride = node.attributes.Ints("stride");
  const bool same = node.attributes.Word("padding") == "same";
  Value& out = graph->value(node.outputs[0]);
  out.shape = {in.b, 0, 0, weights.b};
  out.rank = 4;
  if (!node.attributes.Has("shape")) {
    QUADRA_RETURN_IF_ERROR(OutputSize(in.h, weights.h, stride[0], same, &out.shape.h));
    return OutputSize(in.w, weights.w, stride[1], same, &out.shape.w);
  }
  const std::vector<int>& shape = node.attributes.Ints("shape");
  if (shape[0] != in.b || shape[1] < 1 || shape[2] < 1 || shape[3] != weights.b) {
    return InvalidModel("its result %d,%d,%d,%d does not fit %d images and %d channels", shape[0],
                        shape[1], shape[2], shape[3], in.b, weights.b);
  }
  out.shape.h = shape[1];
  out.shape.w = shape[2];
  return Status();
}

namespace {

// Where the weights of an output channel and a tap begin.
std::ptrdiff_t PlaceOf(const Shape& weights, int o, int y, int x) {
  return ((std::ptrdiff_t{o} * weights.h + y) * weights.w + x) * weights.c;
}

// The weights [out][y][x][in] that meet the results of a phase.
SharedFloats Pick(const Constant& constant, const Shape& weights, const Phase& y, const Phase& x) {
  const SharedFloats ohwi = constant.floats();
  std::vector<float> picked;
  for (int o = 0; o < weights.b; ++o) {
    for (int i = 0; i < y.count; ++i) {
      for (int j = 0; j < x.count; ++j) {
        const auto at = ohwi->begin() + PlaceOf(weights, o, y.WeightOf(i), x.WeightOf(j));
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
bool IsPointwise(const Shape& in, const Shape& weights, const Shape& out, const Transposed& t) {
  const auto one_pixel = [](const TransposedAxis& axis, int kernel, int from, int to) {
    return kernel <= axis.stride && axis.cut == 0 && to <= int64_t{from} * axis.stride;
  };
  const int64_t channels = int64_t{t.y.stride} * t.x.stride * out.slices() * 4;
  return one_pixel(t.y, weights.h, in.h, out.h) && one_pixel(t.x, weights.w, in.w, out.w) &&
         channels <= INT32_MAX && FitsInts({in.b, in.h, in.w, static_cast<int>(channels)});
}

void AddPointwise(const KernelContext& context, const Graph& graph, const Node& node,
                  const Transposed& t, KernelList* list) {
  const Shape& weights = graph.shape(node.inputs[1]);
  const Shape& out = graph.shape(node.outputs[0]);
  const int step_y = t.y.stride, step_x = t.x.stride;
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
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& weights = graph.value(node.inputs[1]);
  const Transposed t(graph, node);
  if (IsPointwise(graph.shape(node.inputs[0]), weights.shape, graph.shape(node.outputs[0]), t)) {
    AddPointwise(context, graph, node, t, list);
    return Status();
  }
  Conv conv;
  conv.name = "transpose_conv";
  conv.src = node.inputs[0];
  conv.dst = node.outputs[0];
  conv.in = graph.shape(conv.src);
  conv.out = graph.shape(conv.dst);
  conv.step_y = t.y.stride;
  conv.step_x = t.x.stride;
  if (node.inputs.size() > 2) conv.bias = *graph.value(node.inputs[2]).constant->floats();
  list->steps_taken = TakeClamp(node, &conv.low, &conv.high);
  conv.plain = list->steps_taken == static_cast<int>(node.fused.size());
  for (int fy = 0; fy < std::min(t.y.stride, conv.out.h); ++fy) {
    for (int fx = 0; fx < std::min(t.x.stride, conv.out.w); ++fx) {
      const Phase y(fy, weights.shape.h, 1, t.y), x(fx, weights.shape.w, 1, t.x);
      conv.first_y = fy;
      conv.first_x = fx;
      conv.window.kernel_y = y.count;
      conv.window.kernel_x = x.count;
      conv.window.pad_top = y.pad;
      conv.window.pad_left = x.pad;
      conv.weights = [constant = weights.constant, shape = weights.shape, y, x] {
        return Pick(*constant, shape, y, x);
      };
      AddConv(context, conv, list);
    }
  }
  return Status();
}

}  // namespace

extern const Op kTransposeConvOp;
const Op kTransposeConvOp = {
    .name = "transpose_conv",
    .builtins = {kTfLiteBuiltinTransposeConv, -1},
    .max_version = 4,
    .attributes = "stride padding",
    .import = Import,
    .shape = InferTransposed,
    .kernels = Kernels,
    .convolution = Convolution::kTransposed,
    .size_input = 0,
};

extern const Op kTransposeConvBiasOp;
const Op kTransposeConvBiasOp = {
    .name = "transpose_conv_bias",
    .custom = "Convolution2DTransposeBias",
    .import = ImportCustom,
};

}  // namespace quadra
