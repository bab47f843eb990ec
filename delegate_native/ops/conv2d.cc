// CONV_2D: weights OHWI, any stride, dilation, padding, groups; bias optional. The number of
// groups is input channels / weights' channels.
#include <algorithm>

#include "delegate_native/ops/elementwise.h"
#include "delegate_native/ops/window.h"
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
  std::vector<ValueId> inputs(importer->HasInput(2) ? 3 : 2);
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &inputs[0]));
  for (int i = 1; i < static_cast<int>(inputs.size()); ++i) {
    QUADRA_RETURN_IF_ERROR(importer->ConstantOperand(i, &inputs[static_cast<size_t>(i)]));
  }
  return importer->AddNode("conv2d", inputs, std::move(attributes), params->activation);
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

// [out slice][ky][kx][in slice][in lane] vec4 of output lanes; groups are zeros elsewhere.
std::vector<float> PackWeights(const std::vector<float>& ohwi, const Shape& weights, int in_c) {
  const int groups = in_c / weights.c, out_per_group = weights.b / groups;
  const int in_slices = CeilDiv(in_c, 4), out_slices = CeilDiv(weights.b, 4);
  const int taps = weights.h * weights.w;
  std::vector<float> packed(static_cast<size_t>(out_slices) * taps * in_slices * 16, 0.0f);
  for (int o = 0; o < weights.b; ++o) {
    const int first = o / out_per_group * weights.c;
    for (int t = 0; t < taps; ++t) {
      for (int i = 0; i < weights.c; ++i) {
        const int c = first + i;
        const size_t at = ((static_cast<size_t>(o / 4) * taps + t) * in_slices + c / 4) * 4 + c % 4;
        packed[at * 4 + o % 4] = ohwi[(static_cast<size_t>(o) * taps + t) * weights.c + i];
      }
    }
  }
  return packed;
}

const char kBody[] = R"(
int x = GLOBAL_X; int y = GLOBAL_Y; int z = GLOBAL_Z;
if (x >= dst_w || y >= dst_h || z >= dst_s * dst_b) { return; }
int b = z / dst_s; int o = z - b * dst_s;
vec4 sum = read_bias(o);
int w = o * kernel_y * kernel_x * src_s * 4;
for (int ky = 0; ky < kernel_y; ++ky) {
  int sy = y * stride_y - pad_y + ky * dilation_y;
  for (int kx = 0; kx < kernel_x; ++kx) {
    int sx = x * stride_x - pad_x + kx * dilation_x;
    if (sy >= 0 && sy < src_h && sx >= 0 && sx < src_w) {
      for (int i = 0; i < src_s; ++i) {
        vec4 v = read_src(sx, sy, b * src_s + i);
        sum += v.x * read_weights(w + i * 4);
        sum += v.y * read_weights(w + i * 4 + 1);
        sum += v.z * read_weights(w + i * 4 + 2);
        sum += v.w * read_weights(w + i * 4 + 3);
      }
    }
    w += src_s * 4;
  }
}
write_dst(min(max(sum, vec4(low)), vec4(high)), x, y, z);
)";

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  const Value& weights = graph.value(node.inputs[1]);
  Window window;
  QUADRA_RETURN_IF_ERROR(ResolveWindow(node.attributes, weights.shape.h, weights.shape.w, in, &window));
  std::vector<float> bias(static_cast<size_t>(out.slices()) * 4, 0.0f);
  if (node.inputs.size() > 2) {
    const std::vector<float>& given = *graph.value(node.inputs[2]).constant;
    std::copy(given.begin(), given.end(), bias.begin());
  }
  KernelDesc& kernel = list->Add("conv2d");
  kernel.Read("src", node.inputs[0]);
  kernel.Write("dst", node.outputs[0]);
  kernel.Constant("weights", PackWeights(*weights.constant, weights.shape, in.c));
  kernel.Constant("bias", std::move(bias));
  kernel.Int("kernel_x", window.kernel_x);
  kernel.Int("kernel_y", window.kernel_y);
  kernel.Int("stride_x", window.stride_x);
  kernel.Int("stride_y", window.stride_y);
  kernel.Int("dilation_x", window.dilation_x);
  kernel.Int("dilation_y", window.dilation_y);
  kernel.Int("pad_x", window.pad_left);
  kernel.Int("pad_y", window.pad_top);
  float low, high;
  list->steps_taken = TakeClamp(node, &low, &high);
  kernel.Float("low", low);
  kernel.Float("high", high);
  kernel.body = kBody;
  kernel.Grid(out.w, out.h, out.slices() * out.b);
  if (!context.gpu->is_cpu()) kernel.Group(8, 4, 1);
  return Status();
}

}  // namespace

extern const Op kConv2dOp;
const Op kConv2dOp = {"conv2d", {kTfLiteBuiltinConv2d, -1}, nullptr, 6, Import, InferShape, Kernels, nullptr};

}  // namespace quadra
