// CONV_2D: weights OHWI, any stride, dilation, padding, groups; bias optional. The number of
// groups is input channels / weights' channels.
//
// Which kernel computes it, in the order in which Kernels below and AddConv ask:
//
//   weights or bias that are no constants  computed_weights.cc, ops of their own: see Import
//   each group is one channel              depthwise_conv2d.cc; on PoCL cpu/wide_depthwise.cc for
//                                          small windows and strides of one or two
//   integers or halfs, few pixels or large
//                                          stored_weights.cc: see KeepsStored
//   3 x 3 windows, channels are many       winograd.cc
//   PoCL                                   cpu/wide_conv.cc, but not for CONV_3D
//   GPUs, llvmpipe                         conv_gpu.cc: AddGpuConv divides the channels into
//                                          kernels, AddGpuPart makes one (of 1 x 1: kPixel). Its
//                                          tile is chosen by conv_tiles.cc (llvmpipe:
//                                          cpu/serial_tiles.cc); split_sums.cc shares a sum within
//                                          a group
//
// FULLY_CONNECTED is imported as the same op. CONV_3D and, by phases (conv_phases.cc), the
// transposed convolutions call AddConv, too. conv_weights.cc lays out the weights for all of them.
#include <utility>

#include "delegate_native/base/texts.h"
#include "delegate_native/ops/computed_weights.h"
#include "delegate_native/ops/conv_kernels.h"
#include "delegate_native/ops/cpu_kernels.h"
#include "delegate_native/ops/depthwise_conv2d.h"
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/ops/folding.h"
#include "delegate_native/ops/stored_weights.h"
#include "delegate_native/ops/winograd.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 3));
  const TfLiteConvParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(SetWindow(params->padding, params->stride_height, params->stride_width,
                                   params->dilation_height_factor, params->dilation_width_factor,
                                   &attributes));
  if (HasComputedWeights(*importer)) {
    ValueId src;
    QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
    return AddComputed(importer, "computed_conv", src, std::move(attributes), params->activation);
  }
  std::vector<ValueId> inputs;
  QUADRA_RETURN_IF_ERROR(importer->WeightedOperands(&inputs));
  return importer->AddNode("conv2d", std::move(inputs), std::move(attributes), params->activation);
}

Status InferShape(Graph* graph, const Node& node) {
  const Shape& in = graph->shape(node.inputs[0]);
  const Shape& weights = graph->shape(node.inputs[1]);
  if (in.c % weights.c != 0 || weights.b % (in.c / weights.c) != 0) {
    return InvalidModel("%d input channels do not fit weights %s", in.c, ToString(weights).c_str());
  }
  QUADRA_RETURN_IF_ERROR(CheckBias(*graph, node, weights.b));
  Window window;
  QUADRA_RETURN_IF_ERROR(ResolveWindow(node.attributes, weights.h, weights.w, in, &window));
  Value& out = graph->value(node.outputs[0]);
  out.shape = {in.b, window.out_h, window.out_w, weights.b};
  out.rank = node.attributes.Int("rank", 4);  // FULLY_CONNECTED says its own
  return Status();
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& weights = graph.value(node.inputs[1]);
  const Shape& in = graph.shape(node.inputs[0]);
  // A group is a channel.
  if (weights.shape.c == 1 && in.c > 1) return DepthwiseKernels(context, graph, node, list);
  if (AddStoredProduct(context, graph, node, list)) return Status();
  Conv conv = ConvOf(graph, node, "conv2d", list);
  QUADRA_RETURN_IF_ERROR(
      ResolveWindow(node.attributes, weights.shape.h, weights.shape.w, in, &conv.window));
  conv.groups = in.c / weights.shape.c;
  conv.weights = [constant = weights.constant] { return constant->floats(); };
  conv.plane_as_row = EpilogueAllowsPlaneAsRow(graph, node);
  AddConv(context, conv, list);
  return Status();
}

// Folds products of few pixels, as layers make them that learn a table from places.
ConstantData Fold(const Graph& graph, const Node& node) {
  constexpr int64_t kMostProducts = 1 << 22;
  const Shape &weights = graph.shape(node.inputs[1]), &out = graph.shape(node.outputs[0]);
  const bool of_pixels = weights.h * weights.w == 1 && weights.c == graph.shape(node.inputs[0]).c &&
                         out.h == graph.shape(node.inputs[0]).h &&
                         out.w == graph.shape(node.inputs[0]).w;
  if (!of_pixels || out.elements() * weights.c > kMostProducts || !IsSmallConstant(graph, node)) {
    return nullptr;
  }
  const auto floats = [&](size_t i) { return graph.value(node.inputs[i]).constant->floats(); };
  const SharedFloats in = floats(0), filters = floats(1);
  const SharedFloats bias = node.inputs.size() > 2 ? floats(2) : nullptr;
  const size_t depth = static_cast<size_t>(weights.c);
  std::vector<float> made;
  for (size_t pixel = 0; pixel < in->size(); pixel += depth) {
    for (size_t o = 0; o < static_cast<size_t>(out.c); ++o) {
      double sum = bias ? (*bias)[o] : 0.0f;
      for (size_t i = 0; i < depth; ++i) {
        sum += static_cast<double>((*in)[pixel + i]) * (*filters)[o * depth + i];
      }
      made.push_back(static_cast<float>(sum));
    }
  }
  return std::make_shared<const Constant>(std::move(made));
}

}  // namespace

Status CheckBias(const Graph& graph, const Node& node, int channels) {
  if (node.inputs.size() < 3) return Status();
  const int64_t values = graph.shape(node.inputs[2]).elements();
  if (values == channels) return Status();
  return InvalidModel("its bias has %lld values for %d channels", static_cast<long long>(values),
                      channels);
}

Conv ConvOf(const Graph& graph, const Node& node, const char* name, KernelList* list) {
  Conv conv;
  conv.name = name;
  conv.src = node.inputs[0];
  conv.dst = node.outputs[0];
  conv.in = graph.shape(conv.src);
  conv.out = graph.shape(conv.dst);
  if (node.inputs.size() > 2) conv.bias = *graph.value(node.inputs[2]).constant->floats();
  list->steps_taken = TakeBounds(node, &conv.bounds);
  conv.plain = list->steps_taken == static_cast<int>(node.fused.size());
  return conv;
}

void AddConv(const KernelContext& context, const Conv& conv, KernelList* list) {
  if (AddWinograd(context, conv, list)) return;
  const auto own = CpuKernelsFor(*context.gpu).conv;
  if (own && !conv.deep()) own(context, conv, list);
  else AddGpuConv(context, conv, list);
}

extern const Op kConv2dOp;
const Op kConv2dOp = {
    .name = "conv2d",
    .builtins = {kTfLiteBuiltinConv2d, -1},
    .max_version = 8,
    .params_bytes = sizeof(TfLiteConvParams),
    .attributes = QUADRA_TEXT("stride padding"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .fold = Fold,
    .convolution = Convolution::kDense,
};

}  // namespace quadra
