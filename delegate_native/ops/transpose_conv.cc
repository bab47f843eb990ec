// Custom op Convolution2DTransposeBias (MediaPipe): a transposed convolution with weights OHWI and
// bias. The result is (input - 1) * stride + kernel, less the padding of SAME, which follows from
// the input's size; the smaller half is cut before.
#include <algorithm>

#include "delegate_native/ops/elementwise.h"
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
  std::vector<ValueId> inputs(importer->HasInput(2) ? 3 : 2);
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &inputs[0]));
  for (int i = 1; i < static_cast<int>(inputs.size()); ++i) {
    QUADRA_RETURN_IF_ERROR(importer->ConstantOperand(i, &inputs[static_cast<size_t>(i)]));
  }
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

// [out slice][ky][kx][in slice][in lane] vec4 of output lanes.
std::vector<float> PackWeights(const std::vector<float>& ohwi, const Shape& weights) {
  const int in_slices = CeilDiv(weights.c, 4), taps = weights.h * weights.w;
  std::vector<float> packed(static_cast<size_t>(CeilDiv(weights.b, 4)) * taps * in_slices * 16, 0.0f);
  for (int o = 0; o < weights.b; ++o) {
    for (int t = 0; t < taps; ++t) {
      for (int i = 0; i < weights.c; ++i) {
        const size_t at = ((static_cast<size_t>(o / 4) * taps + t) * in_slices + i / 4) * 4 + i % 4;
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
for (int ky = 0; ky < kernel_y; ++ky) {
  int ty = y + pad_y - ky;
  int sy = ty / stride_y;
  if (ty >= 0 && sy * stride_y == ty && sy < src_h) {
    for (int kx = 0; kx < kernel_x; ++kx) {
      int tx = x + pad_x - kx;
      int sx = tx / stride_x;
      if (tx >= 0 && sx * stride_x == tx && sx < src_w) {
        int w = ((o * kernel_y + ky) * kernel_x + kx) * src_s * 4;
        for (int i = 0; i < src_s; ++i) {
          vec4 v = read_src(sx, sy, b * src_s + i);
          sum += v.x * read_weights(w + i * 4);
          sum += v.y * read_weights(w + i * 4 + 1);
          sum += v.z * read_weights(w + i * 4 + 2);
          sum += v.w * read_weights(w + i * 4 + 3);
        }
      }
    }
  }
}
write_dst(min(max(sum, vec4(low)), vec4(high)), x, y, z);
)";

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  const Value& weights = graph.value(node.inputs[1]);
  const std::vector<int>& stride = node.attributes.Ints("stride");
  std::vector<float> bias(static_cast<size_t>(out.slices()) * 4, 0.0f);
  if (node.inputs.size() > 2) {
    const std::vector<float>& given = *graph.value(node.inputs[2]).constant;
    std::copy(given.begin(), given.end(), bias.begin());
  }
  KernelDesc& kernel = list->Add("transpose_conv");
  kernel.Read("src", node.inputs[0]);
  kernel.Write("dst", node.outputs[0]);
  kernel.Constant("weights", PackWeights(*weights.constant, weights.shape));
  kernel.Constant("bias", std::move(bias));
  kernel.Int("kernel_x", weights.shape.w);
  kernel.Int("kernel_y", weights.shape.h);
  kernel.Int("stride_x", stride[1]);
  kernel.Int("stride_y", stride[0]);
  kernel.Int("pad_x", std::max(0, (in.w - 1) * stride[1] + weights.shape.w - out.w) / 2);
  kernel.Int("pad_y", std::max(0, (in.h - 1) * stride[0] + weights.shape.h - out.h) / 2);
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

extern const Op kTransposeConvOp;
const Op kTransposeConvOp = {"transpose_conv", {-1}, "Convolution2DTransposeBias", 1, Import,
                             InferShape, Kernels, nullptr};

}  // namespace quadra
