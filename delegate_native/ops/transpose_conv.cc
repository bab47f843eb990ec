// Custom op Convolution2DTransposeBias (MediaPipe): a transposed convolution with weights OHWI and
// bias. The result is (input - 1) * stride + kernel, less the padding of SAME, which follows from
// the input's size; the smaller half is cut before.
#include <algorithm>
#include <limits>

#include "delegate_native/ops/conv_tiles.h"
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
  const Options* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  if (params->stride_height < 1 || params->stride_width < 1) {
    return InvalidModel("its strides (%d, %d) must be positive", params->stride_height,
                        params->stride_width);
  }
  if (params->padding != kTfLitePaddingSame && params->padding != kTfLitePaddingValid) {
    return InvalidModel("its padding has the unknown code %d", params->padding);
  }
  std::vector<ValueId> inputs;
  QUADRA_RETURN_IF_ERROR(importer->WeightedOperands(&inputs));
  Attributes attributes;
  attributes.SetInts("stride", {params->stride_height, params->stride_width});
  attributes.SetWord("padding", params->padding == kTfLitePaddingSame ? "same" : "valid");
  return importer->AddNode("transpose_conv", inputs, std::move(attributes));
}

// Size of the result along one axis.
int OutputSize(int in, int kernel, int stride, bool same) {
  const int padding = same ? std::max(0, kernel - (in - 1) % stride - 1) : 0;
  return (in - 1) * stride + kernel - padding;
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
  out.shape = {in.b, OutputSize(in.h, weights.h, stride[0], same),
               OutputSize(in.w, weights.w, stride[1], same), weights.b};
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

// The weights [out][y][x][in] that meet the results of a phase.
std::vector<float> Pick(const std::vector<float>& ohwi, const Shape& weights, const Phase& y,
                        const Phase& x, int step_y, int step_x) {
  std::vector<float> picked;
  for (int o = 0; o < weights.b; ++o) {
    for (int i = y.count - 1; i >= 0; --i) {
      for (int j = x.count - 1; j >= 0; --j) {
        const int ky = y.weight + i * step_y, kx = x.weight + j * step_x;
        const auto at = ohwi.begin() + ((o * weights.h + ky) * weights.w + kx) * weights.c;
        picked.insert(picked.end(), at, at + weights.c);
      }
    }
  }
  return picked;
}

// Weights no larger than the step: all results of a place come from one pixel, so that they are
// the channels of one pointwise convolution (quads [phase][slice]), placed by a second kernel.
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
  conv.flat_epilogue = true;
  conv.low = -std::numeric_limits<float>::infinity();
  conv.high = -conv.low;
  conv.weights.resize(static_cast<size_t>(conv.out.c) * static_cast<size_t>(weights.c), 0.0f);
  conv.bias.resize(static_cast<size_t>(conv.out.c), 0.0f);
  const std::vector<float>& ohwi = *graph.value(node.inputs[1]).constant;
  const float* bias = node.inputs.size() > 2 ? graph.value(node.inputs[2]).constant->data() : nullptr;
  for (int to = 0; to < conv.out.c; ++to) {
    const int o = to % padded, y = to / padded / step_x, x = to / padded % step_x;
    if (o >= weights.b) continue;
    if (bias) conv.bias[static_cast<size_t>(to)] = bias[o];
    if (y >= weights.h || x >= weights.w) continue;
    const auto from = ohwi.begin() + ((o * weights.h + y) * weights.w + x) * weights.c;
    std::copy(from, from + weights.c, conv.weights.begin() + to * weights.c);
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
  if (weights.shape.h <= stride[0] && weights.shape.w <= stride[1]) {
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
  if (node.inputs.size() > 2) conv.bias = *graph.value(node.inputs[2]).constant;
  list->steps_taken = TakeClamp(node, &conv.low, &conv.high);
  conv.plain = list->steps_taken == static_cast<int>(node.fused.size());
  const int cut_y = std::max(0, (conv.in.h - 1) * stride[0] + weights.shape.h - conv.out.h) / 2;
  const int cut_x = std::max(0, (conv.in.w - 1) * stride[1] + weights.shape.w - conv.out.w) / 2;
  for (int fy = 0; fy < stride[0]; ++fy) {
    for (int fx = 0; fx < stride[1]; ++fx) {
      const Phase y(fy, weights.shape.h, stride[0], cut_y), x(fx, weights.shape.w, stride[1], cut_x);
      conv.first_y = fy;
      conv.first_x = fx;
      conv.window.kernel_y = y.count;
      conv.window.kernel_x = x.count;
      conv.window.pad_top = y.pad;
      conv.window.pad_left = x.pad;
      if (!context.only_check) conv.weights = Pick(*weights.constant, weights.shape, y, x, stride[0], stride[1]);
      if (conv.grid_h() == 0 || conv.grid_w() == 0) continue;
      AddConv(context, conv, list);
    }
  }
  return Status();
}

}  // namespace

extern const Op kTransposeConvOp;
const Op kTransposeConvOp = {"transpose_conv", {-1}, "Convolution2DTransposeBias", 1, Import,
                             InferShape, Kernels, nullptr};

}  // namespace quadra
