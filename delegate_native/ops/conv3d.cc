// CONV_3D, weights DHWIO, and CONV_3D_TRANSPOSE, weights DHWOI, of tensors NDHWC: any stride,
// dilation and padding; bias optional. Axis 0 of a shape is D, and planes are its batches.
#include <algorithm>
#include <utility>

#include "delegate_native/base/texts.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/conv_phases.h"
#include "delegate_native/ops/window.h"

namespace quadra {
namespace {

constexpr char kTranspose[] = "conv3d_transpose";

// Phases of a transposed convolution are kernels.
constexpr int kMostPhases = 1024;

Status Import(Importer* importer) {
  const bool transposed = importer->builtin() == kTfLiteBuiltinConv3dTranspose;
  const int src = transposed ? 2 : 0, bias = transposed ? 3 : 2;
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(bias, bias + 1));
  const TfLiteConv3DParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  if (importer->InputRank(src) != 5) {
    return InvalidModel("its input has rank %d; rank 5 is needed", importer->InputRank(src));
  }
  Attributes attributes, depth;
  QUADRA_RETURN_IF_ERROR(SetWindow(params->padding, params->stride_depth, 1,
                                   params->dilation_depth_factor, 1, &depth));
  QUADRA_RETURN_IF_ERROR(SetWindow(params->padding, params->stride_height, params->stride_width,
                                   params->dilation_height_factor, params->dilation_width_factor,
                                   &attributes));
  attributes.SetInt("stride_z", params->stride_depth);
  attributes.SetInt("dilation_z", params->dilation_depth_factor);
  if (transposed) {
    const int64_t plane = int64_t{params->stride_height} * params->stride_width;
    if (plane > kMostPhases || plane * params->stride_depth > kMostPhases) {
      return Unsupported("its strides are %d, %d and %d; a product of at most %d is supported",
                         params->stride_depth, params->stride_height, params->stride_width,
                         kMostPhases);
    }
    QUADRA_RETURN_IF_ERROR(importer->Sizes(0, "shape", &attributes));
  }
  std::vector<ValueId> inputs;
  QUADRA_RETURN_IF_ERROR(importer->WeightedOperands(&inputs, src, bias));
  return importer->AddNode(transposed ? kTranspose : "conv3d", std::move(inputs),
                           std::move(attributes), params->activation);
}

// The window of CONV_3D in a plane, and along z: there `y` of `depth`.
Status ResolveWindows(const Graph& graph, const Node& node, Window* window, Window* depth) {
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& weights = graph.shape(node.inputs[1]);
  Attributes along_z;
  along_z.SetWord("padding", node.attributes.Word("padding"));
  along_z.SetInts("stride", {node.attributes.Int("stride_z"), 1});
  along_z.SetInts("dilation", {node.attributes.Int("dilation_z"), 1});
  QUADRA_RETURN_IF_ERROR(ResolveWindow(along_z, weights.axis(-1), 1, {1, in.axis(0), 1, 1}, depth));
  return ResolveWindow(node.attributes, weights.axis(0), weights.h, in, window);
}

Status InferShape(Graph* graph, const Node& node) {
  const Shape& in = graph->shape(node.inputs[0]);
  const Shape& weights = graph->shape(node.inputs[1]);
  if (weights.w != in.c) {
    return InvalidModel("%d input channels do not fit weights %s", in.c, ToString(weights).c_str());
  }
  QUADRA_RETURN_IF_ERROR(CheckBias(*graph, node, weights.c));
  Window window, depth;
  QUADRA_RETURN_IF_ERROR(ResolveWindows(*graph, node, &window, &depth));
  return SetDims({in.axis(-1), depth.out_h, window.out_h, window.out_w, weights.c},
                 &graph->value(node.outputs[0]));
}

Status InferTransposed3d(Graph* graph, const Node& node) {
  const Shape& in = graph->shape(node.inputs[0]);
  const Shape& weights = graph->shape(node.inputs[1]);
  if (weights.c != in.c) {
    return InvalidModel("%d input channels do not fit weights %s", in.c, ToString(weights).c_str());
  }
  QUADRA_RETURN_IF_ERROR(CheckBias(*graph, node, weights.w));
  const Attributes& a = node.attributes;
  const int64_t reach = std::max({int64_t{weights.axis(-1)} * a.Int("dilation_z"),
                                  int64_t{weights.axis(0)} * a.Ints("dilation")[0],
                                  int64_t{weights.h} * a.Ints("dilation")[1]});
  if (reach > INT32_MAX / 4)
    return Unsupported("its window reaches over %lld pixels", static_cast<long long>(reach));
  return TakeShape(node, 5, in.axis(-1), weights.w, &graph->value(node.outputs[0]));
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  Conv conv = ConvOf(graph, node, "conv3d", list);
  QUADRA_RETURN_IF_ERROR(ResolveWindows(graph, node, &conv.window, &conv.depth));
  const Value& weights = graph.value(node.inputs[1]);
  conv.weights = [constant = weights.constant, shape = weights.shape] {
    const int pixel = shape.w * shape.c, row = shape.h * pixel;
    return PickWeights(*constant, {1, shape.axis(0) * row, row, pixel, shape.c}, shape.c, shape.w,
                       {shape.axis(-1)}, {shape.axis(0)}, {shape.h});
  };
  AddConv(context, conv, list);
  return Status();
}

Status TransposedKernels(const KernelContext& context, const Graph& graph, const Node& node,
                         KernelList* list) {
  const Conv conv = ConvOf(graph, node, kTranspose, list);
  const Attributes& a = node.attributes;
  const Value& weights = graph.value(node.inputs[1]);
  const Shape& shape = weights.shape;
  const std::vector<int>&stride = a.Ints("stride"), &dilation = a.Ints("dilation");
  const bool same = a.Word("padding") == "same";
  const int pixel = shape.w * shape.c, row = shape.h * pixel;
  AddPhases(context, conv, weights.constant, {shape.c, shape.axis(0) * row, row, pixel, 1},
            {shape.axis(-1), a.Int("stride_z"), a.Int("dilation_z"), conv.out.axis(0), same},
            {shape.axis(0), stride[0], dilation[0], conv.out.h, same},
            {shape.h, stride[1], dilation[1], conv.out.w, same}, list);
  return Status();
}

}  // namespace

extern const Op kConv3dOp;
const Op kConv3dOp = {
    .name = "conv3d",
    .builtins = {kTfLiteBuiltinConv3d, -1},
    .max_version = 1,
    .params_bytes = sizeof(TfLiteConv3DParams),
    .attributes = QUADRA_TEXT("stride padding dilation stride_z dilation_z"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .max_rank = 5,
};

extern const Op kConv3dTransposeOp;
const Op kConv3dTransposeOp = {
    .name = "conv3d_transpose",
    .builtins = {kTfLiteBuiltinConv3dTranspose, -1},
    .max_version = 1,
    .params_bytes = sizeof(TfLiteConv3DParams),
    .attributes = QUADRA_TEXT("shape stride padding dilation stride_z dilation_z"),
    .import = Import,
    .shape = InferTransposed3d,
    .kernels = TransposedKernels,
    .max_rank = 5,
    .size_input = 0,
};

}  // namespace quadra
