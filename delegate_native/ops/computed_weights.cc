// CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV whose weights are computed while the model runs:
// kernels that read the weights as they are, without packing.
#include "delegate_native/ops/computed_weights.h"

#include "delegate_native/base/texts.h"
#include "delegate_native/graph/window.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/transpose_conv.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status InferShape(Graph* graph, const Node& node) {
  const Shape& in = graph->shape(node.inputs[0]);
  const Shape& weights = graph->shape(node.inputs[1]);
  const bool depthwise = node.op == "computed_depthwise";
  const bool fits = depthwise ? weights.b == 1 && weights.c % in.c == 0
                              : in.c % weights.c == 0 && weights.b % (in.c / weights.c) == 0;
  if (!fits) {
    return InvalidModel("%d input channels do not fit weights %s", in.c, ToString(weights).c_str());
  }
  Window window;
  QUADRA_RETURN_IF_ERROR(ResolveWindow(node.attributes, weights.h, weights.w, in, &window));
  Value& out = graph->value(node.outputs[0]);
  out.shape = {in.b, window.out_h, window.out_w, depthwise ? weights.c : weights.b};
  out.rank = 4;
  return Status();
}

// Loops over taps j, k, of which `transposed` ones meet a result with every stride-th weight, with
// the weights of the slice's four channels. Each of these has the source's channels of its group,
// which begin anywhere in a slice: with the weights' lanes beyond the group, zeros, come others.
constexpr const char* kDense = QUADRA_TEXT(R"(
    int batch = s / dst_s;
    int first = (s - batch * dst_s) * 4;
    int o0 = first * weights_s;
    int o1 = min(first + 1, weights_b - 1) * weights_s;
    int o2 = min(first + 2, weights_b - 1) * weights_s;
    int o3 = min(first + 3, weights_b - 1) * weights_s;
    sum4_t sum = vec4(0.0f);
$if(transposed)
for (int j = (y + before_y) % stride_y; j < min(weights_h, y + before_y + 1); j += stride_y) {
int from_y = (y + before_y - j) / stride_y;
for (int k = (x + before_x) % stride_x; k < min(weights_w, x + before_x + 1); k += stride_x) {
int from_x = (x + before_x - k) / stride_x;
$end
$if(!transposed)
for (int j = 0; j < weights_h; ++j) {
int from_y = y * stride_y + j * dilation_y - before_y;
for (int k = 0; k < weights_w; ++k) {
int from_x = x * stride_x + k * dilation_x - before_x;
$end
if (from_y >= 0 && from_y < src_h && from_x >= 0 && from_x < src_w) {


          for (int i = 0; i < weights_s; ++i) {
$if(!grouped) sum4_t v0 = read_src(from_x, from_y, batch * src_s + i);
$if(grouped)
$for(n, 4)
int c$n = min(first + $n, weights_b - 1) / group_size * weights_c + i * 4;
sum4_t v$n = lanes_from(read_src(from_x, from_y, batch * src_s + c$n / 4),
                        read_src(from_x, from_y, batch * src_s + min(c$n / 4 + 1, src_s - 1)), c$n % 4);
$end
$end
$for(n, 4) sum.${n:x,y,z,w} += dot(v${grouped*n}, read_weights(k, j, o$n + i));
          }
}
}
}
write_dst(sum, x, y, s);
)");

// Channel c of the result is of the source's channel c / multiplier.
constexpr const char* kDepthwise = QUADRA_TEXT(R"(
    int batch = s / dst_s;
    int slice = s - batch * dst_s;
    sum4_t sum = vec4(0.0f);
    for (int j = 0; j < weights_h; ++j) {
      int from_y = y * stride_y + j * dilation_y - before_y;
      for (int k = 0; k < weights_w; ++k) {
        int from_x = x * stride_x + k * dilation_x - before_x;
        if (from_y >= 0 && from_y < src_h && from_x >= 0 && from_x < src_w) {
          sum4_t v = vec4(0.0f);
          for (int i = 0; i < 4; ++i) {
            int c = min(slice * 4 + i, dst_c - 1) / multiplier;
            v = with_lane(v, i, lane(read_src(from_x, from_y, batch * src_s + c / 4), c % 4));
          }
          sum += v * read_weights(k, j, slice);
        }
      }
    }
    write_dst(sum, x, y, s);
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& weights = graph.shape(node.inputs[1]);
  const Shape& out = graph.shape(node.outputs[0]);
  const bool depthwise = node.op == "computed_depthwise";
  Window window;
  QUADRA_RETURN_IF_ERROR(ResolveWindow(node.attributes, weights.h, weights.w, in, &window));
  KernelDesc& desc = list->Add(node.op.c_str());
  desc.Read("src", node.inputs[0]);
  desc.Read("weights", node.inputs[1]);
  desc.Write("dst", node.outputs[0]);
  desc.Int("stride_y", window.stride_y);
  desc.Int("stride_x", window.stride_x);
  desc.Int("dilation_y", window.dilation_y);
  desc.Int("dilation_x", window.dilation_x);
  desc.Int("before_y", window.pad_top);
  desc.Int("before_x", window.pad_left);
  if (depthwise) desc.Int("multiplier", out.c / in.c);
  desc.trips = int64_t{weights.h} * weights.w * (depthwise ? 5 : weights.slices() + 1);
  const bool grouped = !depthwise && weights.c != in.c;
  if (grouped) desc.Int("group_size", weights.b / (in.c / weights.c));
  Text text(depthwise ? kDepthwise : kDense);
  const std::string body = text.Set("transposed", false).Set("grouped", grouped);
  LoopOverResults(context, out, "", body.c_str(), &desc);
  return Status();
}

Status TransposedKernels(const KernelContext& context, const Graph& graph, const Node& node,
                         KernelList* list) {
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& weights = graph.shape(node.inputs[1]);
  const Shape& out = graph.shape(node.outputs[0]);
  const Transposed transposed(graph, node);
  KernelDesc& desc = list->Add("computed_transpose_conv");
  desc.Read("src", node.inputs[0]);
  desc.Read("weights", node.inputs[1]);
  desc.Write("dst", node.outputs[0]);
  desc.Int("stride_y", transposed.y.stride);
  desc.Int("stride_x", transposed.x.stride);
  desc.Int("before_y", transposed.y.cut);
  desc.Int("before_x", transposed.x.cut);
  desc.trips = int64_t{CeilDiv(weights.h, transposed.y.stride)} *
               CeilDiv(weights.w, transposed.x.stride) * (in.slices() + 1);
  const std::string body = Text(kDense).Set("transposed", true).Set("grouped", false);
  LoopOverResults(context, out, "", body.c_str(), &desc);
  return Status();
}

}  // namespace

bool HasComputedWeights(const Importer& importer, int bias) {
  return (importer.HasInput(1) && !importer.IsConstant(1)) ||
         (importer.HasInput(bias) && !importer.IsConstant(bias));
}

Status AddComputed(Importer* importer, const char* op, ValueId src, Attributes attributes,
                   TfLiteFusedActivation activation, int bias) {
  std::vector<ValueId> inputs = {src, -1};
  QUADRA_RETURN_IF_ERROR(importer->Weights(1, &inputs[1]));
  if (!importer->HasInput(bias)) {
    return importer->AddNode(op, std::move(inputs), std::move(attributes), activation);
  }
  ValueId added;
  QUADRA_RETURN_IF_ERROR(importer->Operand(bias, &added));
  const ValueId product = importer->AddInnerNode(op, std::move(inputs), std::move(attributes));
  return importer->AddNode("add", {product, added}, {}, activation);
}

extern const Op kComputedConvOp;
const Op kComputedConvOp = {
    .name = "computed_conv",
    .attributes = QUADRA_TEXT("stride padding"),
    .shape = InferShape,
    .kernels = Kernels,
};

extern const Op kComputedDepthwiseOp;
const Op kComputedDepthwiseOp = {
    .name = "computed_depthwise",
    .attributes = QUADRA_TEXT("stride padding"),
    .shape = InferShape,
    .kernels = Kernels,
};

extern const Op kComputedTransposeConvOp;
const Op kComputedTransposeConvOp = {
    .name = "computed_transpose_conv",
    .attributes = QUADRA_TEXT("stride padding"),
    .shape = InferTransposed,
    .kernels = TransposedKernels,
};

}  // namespace quadra
