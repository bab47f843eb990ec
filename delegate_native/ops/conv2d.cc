// CONV_2D: weights OHWI, any stride, dilation, padding, groups; bias optional. The number of
// groups is input channels / weights' channels. Its kernels, which other convolutions share, are in
// conv_kernels.cc (GPUs) and conv_cpu.cc.
#include <utility>

#include "delegate_native/ops/computed_conv.h"
#include "delegate_native/ops/conv_kernels.h"
#include "delegate_native/ops/depthwise_conv2d.h"
#include "delegate_native/ops/elementwise.h"
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

// Weights OHW1 as HWO.
SharedFloats ChannelsLast(const std::vector<float>& ohw, const Shape& hwc) {
  const size_t taps = ohw.size() / static_cast<size_t>(hwc.c);
  std::vector<float> turned;
  for (size_t t = 0; t < taps; ++t) {
    for (size_t at = t; at < ohw.size(); at += taps) turned.push_back(ohw[at]);
  }
  return Share(std::move(turned));
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& weights = graph.value(node.inputs[1]);
  const Shape& in = graph.shape(node.inputs[0]);
  if (weights.shape.c == 1 && in.c > 1) {  // a group is a channel
    const Shape hwc = {1, weights.shape.h, weights.shape.w, weights.shape.b};
    return AddDepthwise(
        context, graph, node, hwc,
        [constant = weights.constant, hwc] { return ChannelsLast(*constant->floats(), hwc); },
        list);
  }
  Conv conv;
  conv.src = node.inputs[0];
  conv.dst = node.outputs[0];
  conv.in = in;
  conv.out = graph.shape(conv.dst);
  QUADRA_RETURN_IF_ERROR(
      ResolveWindow(node.attributes, weights.shape.h, weights.shape.w, conv.in, &conv.window));
  conv.groups = conv.in.c / weights.shape.c;
  conv.weights = [constant = weights.constant] { return constant->floats(); };
  if (node.inputs.size() > 2) conv.bias = *graph.value(node.inputs[2]).constant->floats();
  conv.plane_as_row = EpilogueAllowsPlaneAsRow(graph, node);
  list->steps_taken = TakeClamp(node, &conv.low, &conv.high);
  conv.plain = list->steps_taken == static_cast<int>(node.fused.size());
  AddConv(context, conv, list);
  return Status();
}

}  // namespace

extern const Op kConv2dOp;
const Op kConv2dOp = {
    .name = "conv2d",
    .builtins = {kTfLiteBuiltinConv2d, -1},
    .max_version = 6,
    .attributes = "stride padding",
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .convolution = Convolution::kDense,
};

}  // namespace quadra
