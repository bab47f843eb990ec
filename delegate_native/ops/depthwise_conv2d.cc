// DEPTHWISE_CONV_2D: weights 1HW(C*M), output channel c*M + m reads input channel c; any stride,
// dilation, padding, multiplier.
#include "delegate_native/ops/depthwise_conv2d.h"

#include <algorithm>
#include <utility>

#include "delegate_native/base/sorted.h"
#include "delegate_native/ops/computed_conv.h"
#include "delegate_native/ops/conv_kernels.h"
#include "delegate_native/ops/depthwise_cpu.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/unroll.h"
#include "delegate_native/ops/window.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 3));
  const TfLiteDepthwiseConvParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(SetWindow(params->padding, params->stride_height, params->stride_width,
                                   params->dilation_height_factor, params->dilation_width_factor,
                                   &attributes));
  if (HasComputedWeights(*importer)) {
    ValueId src;
    QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
    return AddComputed(importer, "computed_depthwise", src, std::move(attributes),
                       params->activation);
  }
  std::vector<ValueId> inputs;
  QUADRA_RETURN_IF_ERROR(importer->WeightedOperands(&inputs));
  return importer->AddNode("depthwise_conv2d", std::move(inputs), std::move(attributes),
                           params->activation);
}

Status InferShape(Graph* graph, const Node& node) {
  const Shape& in = graph->shape(node.inputs[0]);
  const Shape& weights = graph->shape(node.inputs[1]);
  if (weights.b != 1 || weights.c % in.c != 0) {
    return InvalidModel("%d input channels do not fit weights %s", in.c, ToString(weights).c_str());
  }
  QUADRA_RETURN_IF_ERROR(CheckBias(*graph, node, weights.c));
  Window window;
  QUADRA_RETURN_IF_ERROR(ResolveWindow(node.attributes, weights.h, weights.w, in, &window));
  Value& out = graph->value(node.outputs[0]);
  out.shape = {in.b, window.out_h, window.out_w, weights.c};
  out.rank = 4;
  return Status();
}

// [out slice][kx][ky] vec4 of output lanes: taps are added column by column, as the CPU's kernels
// do, so that results agree to the last bit. Of weights 1HWO or OHW1.
std::vector<float> PackWeights(const std::vector<float>& weights, const Shape& shape) {
  const int taps = shape.h * shape.w, channels = shape.b * shape.c;
  const size_t next_tap = static_cast<size_t>(shape.c), next_c = shape.b > 1 ? taps : 1;
  std::vector<float> packed(static_cast<size_t>(CeilDiv(channels, 4)) * taps * 4, 0.0f);
  for (int t = 0; t < taps; ++t) {
    const int column_major = t % shape.w * shape.h + t / shape.w;
    for (int c = 0; c < channels; ++c) {
      packed[(static_cast<size_t>(c / 4) * taps + column_major) * 4 + c % 4] =
          weights[t * next_tap + c * next_c];
    }
  }
  return packed;
}

// With a multiplier the four lanes of a slice may come from several input slices.
const char kReadOne[] = "vec4 v = read_src(sx, sy, b * src_s + o);\n";
const char kReadMany[] = R"(
int c = o * 4;
int c0 = min(c / multiplier, src_c - 1); int c1 = min((c + 1) / multiplier, src_c - 1);
int c2 = min((c + 2) / multiplier, src_c - 1); int c3 = min((c + 3) / multiplier, src_c - 1);
vec4 v = vec4(lane(read_src(sx, sy, b * src_s + c0 / 4), c0 % 4),
              lane(read_src(sx, sy, b * src_s + c1 / 4), c1 % 4),
              lane(read_src(sx, sy, b * src_s + c2 / 4), c2 % 4),
              lane(read_src(sx, sy, b * src_s + c3 / 4), c3 % 4));
)";

std::string Body(bool many, bool round) {
  const std::string tap =
      "int sy = y * stride_y - pad_y + ky * dilation_y;\n" +
      Block("if (sy >= 0 && sy < src_h && sx >= 0 && sx < src_w)",
            std::string(many ? kReadMany : kReadOne) + "sum += v * read_weights(w);\n") +
      "++w;\n";
  return R"(
int x = GLOBAL_X; int y = GLOBAL_Y; int z = GLOBAL_Z;
if (x >= dst_w || y >= dst_h || z >= dst_s * dst_b) { return; }
int b = z / dst_s; int o = z - b * dst_s;
sum4_t sum = read_bias(o);
int w = o * kernel_y * kernel_x;
)" +
         Block("for (int kx = 0; kx < kernel_x; ++kx)",
               "int sx = x * stride_x - pad_x + kx * dilation_x;\n" +
                   Block("for (int ky = 0; ky < kernel_y; ++ky)", tap)) +
         "write_dst(" + Bounded(round, "sum") + ", x, y, z);\n";
}

// A strip of neighbours of a row: what one reads, the next ones use again. Taps are added row by
// row; everything along x is in the text.
struct Strip {
  int pixels, taps, stride, dilation;

  int Column(int pixel, int tap) const { return pixel * stride + tap * dilation; }
  std::vector<int> Columns() const {
    std::vector<int> columns;
    for (int i = 0; i < pixels; ++i) {
      for (int k = 0; k < taps; ++k) columns.push_back(Column(i, k));
    }
    SortOnce(&columns);
    return columns;
  }
};

std::string StripBody(const Strip& strip, bool round) {
  const std::vector<int> columns = strip.Columns();
  std::string text = Format(R"(
int x = GLOBAL_X * %d; int y = GLOBAL_Y; int z = GLOBAL_Z;
if (x >= dst_w || y >= dst_h || z >= dst_s * dst_b) { return; }
int o = z - z / dst_s * dst_s;
int first = x * %d - pad_x;
int w = o * kernel_y * %d;
)",
                            strip.pixels, strip.stride, strip.taps);
  text += Unroll(strip.pixels, "sum4_t a$ = read_bias(o);\n");
  for (int c : columns)
    text += Format("bool in%d = first + %d >= 0 && first + %d < src_w;\n", c, c, c);
  std::string row = R"(
int sy = y * stride_y - pad_y + ky * dilation_y;
bool row = sy >= 0 && sy < src_h;
)";
  for (int c : columns) {
    row +=
        Format("vec4 v%d = vec4(0.0f);\n", c) +
        Block(Format("if (row && in%d)", c), Format("v%d = read_src(first + %d, sy, z);\n", c, c));
  }
  for (int k = 0; k < strip.taps; ++k) {
    row += Format("vec4 w%d = read_weights(w + kernel_y * %d + ky);\n", k, k);
    for (int i = 0; i < strip.pixels; ++i)
      row += Format("a%d += v%d * w%d;\n", i, strip.Column(i, k), k);
  }
  text += Block("for (int ky = 0; ky < kernel_y; ++ky)", row);
  for (int i = 0; i < strip.pixels; ++i) {
    const std::string write =
        "write_dst(" + Bounded(round, Format("a%d", i)) + Format(", x + %d, y, z);\n", i);
    text += i ? Block(Format("if (x + %d < dst_w)", i), write) : write;
  }
  return text;
}

// Strips where they leave enough work-items, and where the text stays short.
void MakeGpuDepthwise(const KernelContext& context, const Shape& out, const Window& window,
                      int multiplier, bool round, KernelDesc* kernel) {
  constexpr int kPixels = 4, kEnoughItems = 4096;
  constexpr size_t kMostColumns = 16;
  kernel->trips = int64_t{window.kernel_x} * (window.kernel_y + 1);
  const Strip strip = {kPixels, window.kernel_x, window.stride_x, window.dilation_x};
  const int slices = out.slices() * out.b;
  const bool enough = context.gpu->runs_items_serially() ||
                      CeilDiv(out.w, kPixels) * out.h * slices >= kEnoughItems;
  if (multiplier == 1 && enough && out.w > 1 && strip.Columns().size() <= kMostColumns) {
    kernel->body = StripBody(strip, round);
    kernel->Grid(CeilDiv(out.w, kPixels), out.h, slices);
  } else {
    kernel->body = Body(multiplier > 1, round);
    kernel->Grid(out.w, out.h, slices);
  }
  if (!context.gpu->is_cpu()) SetGpuGroup(*context.gpu, kernel);
}

}  // namespace

Status DepthwiseKernels(const KernelContext& context, const Graph& graph, const Node& node,
                        KernelList* list) {
  const Value& weights = graph.value(node.inputs[1]);
  const Shape& shape = weights.shape;
  Conv conv = ConvOf(graph, node, "depthwise_conv2d", list);
  QUADRA_RETURN_IF_ERROR(ResolveWindow(node.attributes, shape.h, shape.w, conv.in, &conv.window));
  KernelDesc& kernel = list->Add(conv.name);
  kernel.Read("src", conv.src);
  kernel.Write("dst", conv.dst);
  const int channels = conv.out.slices() * 4;
  kernel.Constant(
      "weights", 4, int64_t{conv.taps()} * channels,
      [constant = weights.constant, shape] { return PackWeights(*constant->floats(), shape); });
  kernel.Constant("bias", BiasOf(conv, channels));
  AddConvNumbers(conv, &kernel);
  const int multiplier = conv.out.c / conv.in.c;
  if (multiplier > 1) kernel.Int("multiplier", multiplier);
  if (context.gpu->is_cpu() && multiplier == 1) {
    // Whole vectors are stored past the steps and past the zeros of dead lanes.
    MakeWideDepthwise(conv.out, conv.plain && conv.out.c % 4 == 0, conv.bounds.round(), &kernel);
    return Status();
  }
  MakeGpuDepthwise(context, conv.out, conv.window, multiplier, conv.bounds.round(), &kernel);
  return Status();
}

extern const Op kDepthwiseConv2dOp;
const Op kDepthwiseConv2dOp = {
    .name = "depthwise_conv2d",
    .builtins = {kTfLiteBuiltinDepthwiseConv2d, -1},
    .max_version = 7,
    .params_bytes = sizeof(TfLiteDepthwiseConvParams),
    .attributes = "stride padding",
    .import = Import,
    .shape = InferShape,
    .kernels = DepthwiseKernels,
    .convolution = Convolution::kDepthwise,
};

}  // namespace quadra
