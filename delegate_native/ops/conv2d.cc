// CONV_2D: weights OHWI, any stride, dilation, padding, groups; bias optional. The number of
// groups is input channels / weights' channels. Its kernels, which other convolutions share, are in
// conv_kernels.cc (GPUs) and conv_cpu.cc.
#include <utility>

#include "delegate_native/ops/computed_conv.h"
#include "delegate_native/ops/conv_kernels.h"
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
  if (node.inputs.size() > 2 && graph->shape(node.inputs[2]).elements() != weights.b) {
    return InvalidModel("its bias has %lld values for %d channels",
                        static_cast<long long>(graph->shape(node.inputs[2]).elements()), weights.b);
  }
  Window window;
  QUADRA_RETURN_IF_ERROR(ResolveWindow(node.attributes, weights.h, weights.w, in, &window));
  Value& out = graph->value(node.outputs[0]);
  out.shape = {in.b, window.out_h, window.out_w, weights.b};
  out.rank = node.attributes.Int("rank", 4);  // FULLY_CONNECTED says its own
  return Status();
}

// Weights of a grouped convolution as those of a dense one, zeros across groups.
SharedFloats Dense(const Constant& constant, const Shape& weights, int in_c) {
  SharedFloats ohwi = constant.floats();
  if (weights.c == in_c) return ohwi;
  const int out_per_group = weights.b / (in_c / weights.c), taps = weights.h * weights.w;
  std::vector<float> dense(static_cast<size_t>(weights.b) * taps * in_c, 0.0f);
  const float* from = ohwi->data();
  for (int o = 0; o < weights.b; ++o) {
    const size_t first = static_cast<size_t>(o / out_per_group) * weights.c;
    for (int t = 0; t < taps; ++t) {
      float* to = &dense[(static_cast<size_t>(o) * taps + t) * in_c + first];
      for (int i = 0; i < weights.c; ++i) to[i] = *from++;
    }
  }
  return Share(std::move(dense));
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& weights = graph.value(node.inputs[1]);
  Conv conv;
  conv.src = node.inputs[0];
  conv.dst = node.outputs[0];
  conv.in = graph.shape(conv.src);
  conv.out = graph.shape(conv.dst);
  QUADRA_RETURN_IF_ERROR(
      ResolveWindow(node.attributes, weights.shape.h, weights.shape.w, conv.in, &conv.window));
  conv.weights = [constant = weights.constant, shape = weights.shape, in_c = conv.in.c] {
    return Dense(*constant, shape, in_c);
  };
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
