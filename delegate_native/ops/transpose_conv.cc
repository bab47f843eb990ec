// TRANSPOSE_CONV: weights OHWI, each pixel times them added to the results around stride * pixel;
// the file gives the results' shape. And MediaPipe's custom op Convolution2DTransposeBias, whose
// result is (input - 1) * stride + kernel, less the padding of SAME.
#include "delegate_native/ops/transpose_conv.h"

#include <algorithm>
#include <utility>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/computed_weights.h"
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
  QUADRA_RETURN_IF_ERROR(importer->Sizes(0, "shape", &attributes));
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

Transposed::Transposed(const Graph& graph, const Node& node) {
  const Shape& weights = graph.shape(node.inputs[1]);
  const Shape& out = graph.shape(node.outputs[0]);
  const std::vector<int>& stride = node.attributes.Ints("stride");
  const bool same = node.attributes.Word("padding") == "same";
  y = TransposedAxis(weights.h, stride[0], 1, out.h, same);
  x = TransposedAxis(weights.w, stride[1], 1, out.w, same);
}

Status InferTransposed(Graph* graph, const Node& node) {
  const Shape& in = graph->shape(node.inputs[0]);
  const Shape& weights = graph->shape(node.inputs[1]);
  if (weights.c != in.c) {
    return InvalidModel("%d input channels do not fit weights %s", in.c, ToString(weights).c_str());
  }
  QUADRA_RETURN_IF_ERROR(CheckBias(*graph, node, weights.b));
  Value& out = graph->value(node.outputs[0]);
  if (node.attributes.Has("shape")) return TakeShape(node, 4, in.b, weights.b, &out);
  const std::vector<int>& stride = node.attributes.Ints("stride");
  const bool same = node.attributes.Word("padding") == "same";
  out.shape = {in.b, 0, 0, weights.b};
  out.rank = 4;
  QUADRA_RETURN_IF_ERROR(OutputSize(in.h, weights.h, stride[0], same, &out.shape.h));
  return OutputSize(in.w, weights.w, stride[1], same, &out.shape.w);
}

namespace {

// Weights [phase][out, filled up to `padded`][in] of one pixel, zeros where a phase has no weight.
SharedFloats PhasesAsChannels(const Constant& constant, const Shape& weights, int padded,
                              int step_x, int out_c) {
  const SharedFloats ohwi = constant.floats();
  std::vector<float> channels(static_cast<size_t>(out_c) * static_cast<size_t>(weights.c), 0.0f);
  for (int to = 0; to < out_c; ++to) {
    const int o = to % padded, y = to / padded / step_x, x = to / padded % step_x;
    if (o >= weights.b || y >= weights.h || x >= weights.w) continue;
    const auto from =
        ohwi->begin() + ((std::ptrdiff_t{o} * weights.h + y) * weights.w + x) * weights.c;
    std::copy(from, from + weights.c,
              channels.begin() + static_cast<std::ptrdiff_t>(to) * weights.c);
  }
  return Share(std::move(channels));
}

// Weights as large as the step: all results of a place come from one pixel, so that they are
// the channels of one pointwise convolution (quads [phase][slice]), placed by a second kernel.
// Smaller ones leave results that no pixel touches: weights of 0 there would make NaN of infinity.
bool IsPointwise(const Shape& in, const Shape& out, const Transposed& t) {
  const auto one_pixel = [](const TransposedAxis& axis, int from) {
    return axis.kernel == axis.stride && axis.cut == 0 && axis.out <= int64_t{from} * axis.stride;
  };
  const int64_t channels = int64_t{t.y.stride} * t.x.stride * out.slices() * 4;
  return one_pixel(t.y, in.h) && one_pixel(t.x, in.w) && channels <= INT32_MAX &&
         FitsInts({in.b, in.h, in.w, static_cast<int>(channels)});
}

// The steps are in the text: most are 2, and divisions by what a kernel is told take long.
constexpr const char* kPlacedRow = QUADRA_TEXT(R"(
  int from_y = y / $rows;
  int phase = (y - from_y * $rows) * $columns;
$if(packs)
  int first = phase * $c;
  int from_s = s * src_s + first / 4;
$end
$if(!packs)
  int b = s / dst_s;
  int from_s = b * src_s + phase * dst_s + s - b * dst_s;
$end
)");
constexpr const char* kPlacedPixel = QUADRA_TEXT(R"(
$if(packs)
    num4 v = read_src(x, from_y, from_s);
    v = num_lanes_from(v, v, first % 4);
$end
    for (int k = 0; k < $columns; ++k) {
      if (x * $columns + k < dst_w) {
$if(packs) write_dst(num_lanes_from(v, v, k * $c), x * $columns + k, y, s);
$if(!packs) write_dst(read_src(x, from_y, from_s + k * dst_s), x * $columns + k, y, s);
      }
    }
)");

void AddPointwise(const KernelContext& context, const Graph& graph, const Node& node,
                  const Transposed& t, KernelList* list) {
  const Shape& weights = graph.shape(node.inputs[1]);
  const Shape& out = graph.shape(node.outputs[0]);
  const int step_y = t.y.stride, step_x = t.x.stride;
  // A few channels: those of a row of phases share a slice.
  const bool packs = 4 % (step_x * out.c) == 0;
  const int padded = packs ? out.c : out.slices() * 4;
  Conv conv;
  conv.name = "transpose_conv";
  conv.src = node.inputs[0];
  conv.in = graph.shape(conv.src);
  conv.out = {conv.in.b, conv.in.h, conv.in.w, step_y * step_x * padded};
  conv.dst = list->AddScratch(conv.out);
  conv.plane_as_row = true;
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
  const auto text = [&](const char* words) -> std::string {
    return Text(words)
        .Set("packs", packs)
        .Set("rows", step_y)
        .Set("columns", step_x)
        .Set("c", out.c);
  };
  const std::string row = text(kPlacedRow), pixel = text(kPlacedPixel);
  Loops loops;
  loops.limits[0] = "src_w";
  loops.row = row.c_str();
  loops.pixel = pixel.c_str();
  LoopOver(context, conv.in.w, out.h, out.slices() * out.b, loops, &place);
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& weights = graph.value(node.inputs[1]);
  const Transposed t(graph, node);
  if (IsPointwise(graph.shape(node.inputs[0]), graph.shape(node.outputs[0]), t)) {
    AddPointwise(context, graph, node, t, list);
    return Status();
  }
  const int row = weights.shape.w * weights.shape.c;
  const WeightSteps steps = {weights.shape.h * row, 0, row, weights.shape.c, 1};
  AddPhases(context, ConvOf(graph, node, "transpose_conv", list), weights.constant, steps, {}, t.y,
            t.x, list);
  return Status();
}

}  // namespace

extern const Op kTransposeConvOp;
const Op kTransposeConvOp = {
    .name = "transpose_conv",
    .builtins = {kTfLiteBuiltinTransposeConv, -1},
    .max_version = 5,
    .params_bytes = sizeof(TfLiteTransposeConvParams),
    .attributes = QUADRA_TEXT("stride padding"),
    .import = Import,
    .shape = InferTransposed,
    .kernels = Kernels,
    .convolution = Convolution::kTransposed,
    .size_input = 0,
};

extern const Op kTransposeConvBiasOp;
const Op kTransposeConvBiasOp = {
    .name = "transpose_conv_bias",
    .custom = QUADRA_TEXT("Convolution2DTransposeBias"),
    .import = ImportCustom,
};

}  // namespace quadra
