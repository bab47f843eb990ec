// CONV_3D, weights DHWIO, and CONV_3D_TRANSPOSE, weights DHWOI, of tensors NDHWC: any stride,
// dilation and padding; bias optional. Axis 0 of a shape is D, and planes are its batches.
#include <algorithm>
#include <utility>

#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/conv_kernels.h"
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/ops/transpose_conv.h"
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
    std::vector<int> shape;
    QUADRA_RETURN_IF_ERROR(importer->ConstantInts(0, &shape));
    attributes.SetInts("shape", std::move(shape));
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
  const std::pair<int, int> taps[] = {{weights.axis(-1), a.Int("dilation_z")},
                                      {weights.axis(0), a.Ints("dilation")[0]},
                                      {weights.h, a.Ints("dilation")[1]}};
  for (const auto& [kernel, dilation] : taps) {
    if ((int64_t{kernel} - 1) * dilation <= INT32_MAX / 4) continue;
    return Unsupported("its window of %d weights, %d apart, is too long", kernel, dilation);
  }
  const std::vector<int>& shape = a.Ints("shape");
  const bool fits = shape.size() == 5 && shape[0] == in.axis(-1) && shape[4] == weights.w &&
                    shape[1] > 0 && shape[2] > 0 && shape[3] > 0;
  if (!fits) {
    return InvalidModel("its result's shape does not fit %d items and %d channels", in.axis(-1),
                        weights.w);
  }
  return SetDims(shape, &graph->value(node.outputs[0]));
}

// Which weights of an axis are the taps of a plain convolution: first + step * i.
struct Taps {
  int count, first = 0, step = 1;

  explicit Taps(int kernel) : count(kernel) {}
  explicit Taps(const Phase& phase)
      : count(phase.count), first(phase.WeightOf(0)), step(-phase.step) {}
};

// Weights [out][z][y][x][in] of DHWIO or, transposed, DHWOI.
SharedFloats Pick(const Constant& constant, const Shape& weights, bool transposed, const Taps& z,
                  const Taps& y, const Taps& x) {
  const SharedFloats all = constant.floats();
  const int in_c = transposed ? weights.c : weights.w, out_c = transposed ? weights.w : weights.c;
  const int next_in = transposed ? 1 : out_c, next_out = transposed ? in_c : 1;
  std::vector<float> picked;
  for (int o = 0; o < out_c; ++o) {
    for (int tap = 0; tap < z.count * y.count * x.count; ++tap) {
      const int i = z.first + tap / (y.count * x.count) * z.step;
      const int j = y.first + tap / x.count % y.count * y.step;
      const int k = x.first + tap % x.count * x.step;
      const int at = ((i * weights.axis(0) + j) * weights.h + k) * in_c * out_c + o * next_out;
      for (int c = 0; c < in_c; ++c)
        picked.push_back((*all)[static_cast<size_t>(at + c * next_in)]);
    }
  }
  return Share(std::move(picked));
}

// What both ops know of their convolutions.
Conv Begin(const Graph& graph, const Node& node, KernelList* list) {
  Conv conv;
  conv.name = node.op == kTranspose ? kTranspose : "conv3d";
  conv.src = node.inputs[0];
  conv.dst = node.outputs[0];
  conv.in = graph.shape(conv.src);
  conv.out = graph.shape(conv.dst);
  if (node.inputs.size() > 2) conv.bias = *graph.value(node.inputs[2]).constant->floats();
  list->steps_taken = TakeClamp(node, &conv.low, &conv.high);
  conv.plain = list->steps_taken == static_cast<int>(node.fused.size());
  return conv;
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  Conv conv = Begin(graph, node, list);
  QUADRA_RETURN_IF_ERROR(ResolveWindows(graph, node, &conv.window, &conv.depth));
  const Value& weights = graph.value(node.inputs[1]);
  conv.weights = [constant = weights.constant, shape = weights.shape] {
    return Pick(*constant, shape, /*transposed=*/false, Taps(shape.axis(-1)), Taps(shape.axis(0)),
                Taps(shape.h));
  };
  AddConv(context, conv, list);
  return Status();
}

// A phase as the plain convolution along an axis.
void SetAxis(const Phase& phase, int* kernel, int* dilation, int* pad) {
  *kernel = phase.count;
  *dilation = phase.dilation;
  *pad = phase.pad;
}

Status TransposedKernels(const KernelContext& context, const Graph& graph, const Node& node,
                         KernelList* list) {
  Conv conv = Begin(graph, node, list);
  const Attributes& a = node.attributes;
  const Value& weights = graph.value(node.inputs[1]);
  const Shape& shape = weights.shape;
  const bool same = a.Word("padding") == "same";
  const int dilation_z = a.Int("dilation_z");
  const int dilation_y = a.Ints("dilation")[0], dilation_x = a.Ints("dilation")[1];
  const auto axis = [same](int stride, int kernel, int dilation, int out) {
    return TransposedAxis(stride, (kernel - 1) * dilation + 1, out, same);
  };
  const TransposedAxis z = axis(a.Int("stride_z"), shape.axis(-1), dilation_z, conv.out.axis(0));
  const TransposedAxis y = axis(a.Ints("stride")[0], shape.axis(0), dilation_y, conv.out.h);
  const TransposedAxis x = axis(a.Ints("stride")[1], shape.h, dilation_x, conv.out.w);
  conv.step_z = z.stride, conv.step_y = y.stride, conv.step_x = x.stride;
  for (conv.first_z = 0; conv.first_z < std::min(z.stride, conv.out.axis(0)); ++conv.first_z) {
    const Phase pz(conv.first_z, shape.axis(-1), dilation_z, z);
    SetAxis(pz, &conv.depth.kernel_y, &conv.depth.dilation_y, &conv.depth.pad_top);
    for (conv.first_y = 0; conv.first_y < std::min(y.stride, conv.out.h); ++conv.first_y) {
      const Phase py(conv.first_y, shape.axis(0), dilation_y, y);
      SetAxis(py, &conv.window.kernel_y, &conv.window.dilation_y, &conv.window.pad_top);
      for (conv.first_x = 0; conv.first_x < std::min(x.stride, conv.out.w); ++conv.first_x) {
        const Phase px(conv.first_x, shape.h, dilation_x, x);
        SetAxis(px, &conv.window.kernel_x, &conv.window.dilation_x, &conv.window.pad_left);
        conv.weights = [constant = weights.constant, shape, pz, py, px] {
          return Pick(*constant, shape, /*transposed=*/true, Taps(pz), Taps(py), Taps(px));
        };
        AddConv(context, conv, list);
      }
    }
  }
  return Status();
}

}  // namespace

extern const Op kConv3dOp;
const Op kConv3dOp = {
    .name = "conv3d",
    .builtins = {kTfLiteBuiltinConv3d, -1},
    .max_version = 1,
    .attributes = "stride padding dilation stride_z dilation_z",
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
    .attributes = "shape stride padding dilation stride_z dilation_z",
    .import = Import,
    .shape = InferTransposed3d,
    .kernels = TransposedKernels,
    .max_rank = 5,
    .size_input = 0,
};

}  // namespace quadra
