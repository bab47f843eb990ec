// DEPTHWISE_CONV_2D: weights 1HW(C*M), output channel c*M + m reads input channel c; any stride,
// dilation, padding, multiplier.
#include "delegate_native/ops/depthwise_conv2d.h"

#include <algorithm>
#include <utility>

#include "delegate_native/base/lean/sorted.h"
#include "delegate_native/base/status.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/computed_weights.h"
#include "delegate_native/ops/conv_kernels.h"
#include "delegate_native/ops/cpu_kernels.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/tile_text.h"
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

// [out slice][ky][kx] vec4 of output lanes, or [out slice][kx][ky]. Of weights 1HWO or OHW1.
std::vector<float> PackWeights(const std::vector<float>& weights, const Shape& shape,
                               bool by_columns) {
  const int taps = shape.h * shape.w, channels = shape.b * shape.c;
  const size_t next_tap = static_cast<size_t>(shape.c), next_c = shape.b > 1 ? taps : 1;
  std::vector<float> packed(static_cast<size_t>(CeilDiv(channels, 4)) * taps * 4, 0.0f);
  for (int t = 0; t < taps; ++t) {
    const int place = by_columns ? t % shape.w * shape.h + t / shape.w : t;
    for (int c = 0; c < channels; ++c) {
      packed[(static_cast<size_t>(c / 4) * taps + place) * 4 + c % 4] =
          weights[t * next_tap + c * next_c];
    }
  }
  return packed;
}

// With a multiplier the four lanes of a slice may come from several input slices.
constexpr const char* kReadOne = QUADRA_TEXT("sum4_t v = read_src(sx, sy, b * src_s + o);\n");
constexpr const char* kReadMany = QUADRA_TEXT(R"(
int c = o * 4;
int c0 = min(c / multiplier, src_c - 1); int c1 = min((c + 1) / multiplier, src_c - 1);
int c2 = min((c + 2) / multiplier, src_c - 1); int c3 = min((c + 3) / multiplier, src_c - 1);
sum4_t v = vec4(lane(read_src(sx, sy, b * src_s + c0 / 4), c0 % 4),
                lane(read_src(sx, sy, b * src_s + c1 / 4), c1 % 4),
                lane(read_src(sx, sy, b * src_s + c2 / 4), c2 % 4),
                lane(read_src(sx, sy, b * src_s + c3 / 4), c3 % 4));
)");

// A result each, whatever its windows are.
constexpr const char* kEach = QUADRA_TEXT(R"(
int x = GLOBAL_X; int y = GLOBAL_Y; int z = GLOBAL_Z;
if (x >= dst_w || y >= dst_h || z >= dst_s * dst_b) { return; }
int b = z / dst_s; int o = z - b * dst_s;
sum4_t sum = read_bias(o);
int w = o * kernel_y * kernel_x;
for (int ky = 0; ky < kernel_y; ++ky) {
int sy = y * stride_y - pad_y + ky * dilation_y;
for (int kx = 0; kx < kernel_x; ++kx) {
int sx = x * stride_x - pad_x + kx * dilation_x;
if (sy >= 0 && sy < src_h && sx >= 0 && sx < src_w) {
${read}sum += v * read_weights(w);
}
++w;
}
}
write_dst($bounded, x, y, z);
)");

std::string Body(bool many, bool round) {
  Text text(kEach);
  return text.Set("read", many ? kReadMany : kReadOne).Set("bounded", Bounded(round, "sum"));
}

// Everything that a strip's pixels have in common.
Text ForStrip(const Strip& strip, const char* text) {
  Text made(text);
  made.Set("half", strip.in_half()).Set("rows", strip.half == HalfSums::kOfRow);
  made.Set("all", strip.half == HalfSums::kAll);
  made.Set("pixels", strip.pixels).Set("stride", strip.stride).Set("dilation", strip.dilation_y);
  return made.Set("taps", strip.taps);
}

// The products of one row of the window: each column is read once and used. Columns outside
// are read inside and dropped.
constexpr const char* kRow =
    QUADRA_TEXT(R"($for(k, taps) ${half:sum,medium}4_t w$k = fetch_${half:,medium_}weights(w + $k);
${half:sum,medium}4_t v;
$if(rows) $for(i, pixels) medium4_t h$i = to_medium(vec4(0.0f));
${columns}$if(rows) $for(i, pixels) a$i += to_float(h$i);
w += $taps;
row += next_row;
)");
constexpr const char* kColumn = QUADRA_TEXT(R"(v = fetch_${half:,medium_}src(row + along_src(x$c));
if (!in$c) { v = ${half:vec4(0.0f),to_medium(vec4(0.0f))}; }
)");

std::string StripRow(const Strip& strip) {
  const char* const sum = strip.half == HalfSums::kOfRow ? "h" : "a";
  std::string text;
  for (int c : strip.Columns()) {
    text += Text(kColumn).Set("c", c).Set("half", strip.in_half()).str();
    for (int i = 0; i < strip.pixels; ++i) {
      for (int k = 0; k < strip.taps; ++k) {
        if (strip.Column(i, k) != c) continue;
        text +=
            Text(QUADRA_TEXT("$sum$i += v * w$k;\n")).Set("sum", sum).Set("i", i).Set("k", k).str();
      }
    }
  }
  return ForStrip(strip, kRow).Set("columns", text);
}

constexpr const char* kFindStrip = QUADRA_TEXT(R"(
int x = GLOBAL_X * $pixels; int y = GLOBAL_Y; int z = GLOBAL_Z;
${guard}int o = ${batch:z - z / dst_s * dst_s,z};
int sx = x * $stride - pad_x;
int sy = y * stride_y - pad_y;
int first = max(0, (${dilation-1} - sy) / $dilation);
int last = min(kernel_y, (src_h - sy + ${dilation-1}) / $dilation);
int w = (o * kernel_y + first) * $taps + begin_weights;
src_at row = at_src(0, sy + first * $dilation, z);
src_at next_row = down_src($dilation);
$for(i, pixels) ${all:sum,medium}4_t a$i = read_${all:,medium_}bias(o);
$columns)");
constexpr const char* kFindColumn =
    QUADRA_TEXT("int x$c = clamp(sx + $c, 0, src_w - 1); bool in$c = x$c == sx + $c;\n");

// The results. In a loop the text is there once.
std::string WriteStrip(const Strip& strip, bool round, const SerialTexts* serial) {
  std::string sum = serial ? "a0" : "a$i";
  const bool half = strip.stores_half;
  if (half && strip.half != HalfSums::kAll) sum = "to_medium(" + sum + ")";
  if (!serial) {
    Text write = ForStrip(strip, kWritePixels);
    write.Set("exists", "x + $i < dst_w")
        .Set("write", half ? "write_medium_dst($bounded, x + $i, y, z);"
                           : "write_dst($bounded, x + $i, y, z);");
    return write.Set("bounded", Bounded(round, sum, half));
  }
  Text write = ForStrip(strip, serial->writes);
  write.Set("width", "dst_w").Set("results", "write_dst($bounded, x + j, y, z);\n");
  write.Set("moves", QUADRA_TEXT("$for(i, pixels) $if(i) a${i-1} = a$i;\n"));
  return write.Set("bounded", Bounded(round, sum, /*in_half=*/false));
}

std::string StripBody(const Strip& strip, bool one_item, bool round, const SerialTexts* serial) {
  std::string columns;
  for (int c : strip.Columns()) columns += Text(kFindColumn).Set("c", c).str();
  Text find = ForStrip(strip, kFindStrip);
  find.Set("guard", serial ? serial->guard : kGuard);
  find.Set("beyond", QUADRA_TEXT("x >= dst_w || y >= dst_h || z >= dst_s * dst_b"));
  find.Set("batch", one_item).Set("columns", columns);
  return find.str() + (serial ? serial->last : "") +
         Loop(serial ? serial->loop_if_any : kLoop, "ky", "first", "ky < last", 1,
              StripRow(strip)) +
         WriteStrip(strip, round, serial);
}

// The longest strip that fits the GPU's registers and leaves it enough work-items. Of four pixels
// that share no column two are as good. Short rows are no multiple of three.
Strip StripFor(const GpuInfo& gpu, const Shape& out, const Window& window, HalfSums half) {
  Strip strip = {4, window.kernel_x, window.stride_x, window.dilation_x, window.dilation_y, half};
  if (const auto own = CpuKernelsFor(gpu).strip) {
    strip.pixels = own(strip, out.w);
    return strip;
  }
  const auto fits = [&] {
    const int columns = static_cast<int>(strip.Columns().size());
    const int items = CeilDiv(out.w, strip.pixels) * out.h * out.slices() * out.b;
    return out.w > strip.pixels / 2 && (strip.pixels != 3 || out.w >= 24) &&
           strip.pixels + strip.taps + columns < gpu.vector_registers &&
           (strip.pixels == 2 || columns < strip.pixels * strip.taps) &&
           items >= gpu.enough_work_items;
  };
  while (strip.pixels > 1 && !fits()) --strip.pixels;
  return strip;
}

void MakeGpuDepthwise(const KernelContext& context, const Shape& out, const Window& window,
                      int multiplier, bool round, bool plain, KernelDesc* kernel) {
  constexpr int kMostTaps = 16;  // of a row: all of them are in the text
  kernel->trips = int64_t{window.kernel_y} * (window.kernel_x + 1);
  const int slices = out.slices() * out.b;
  const GpuInfo& gpu = *context.gpu;
  const int products = window.kernel_y * window.kernel_x;
  const SerialTexts* const serial = CpuKernelsFor(gpu).serial;
  const bool may_be_half = !round && !serial;
  const HalfSums half = !may_be_half || !context.computes_half() ? HalfSums::kNone
                        : products <= kMostHalfProducts          ? HalfSums::kAll
                                                                 : HalfSums::kOfRow;
  Strip strip = StripFor(gpu, out, window, half);
  // As of other convolutions (conv_gpu.cc).
  strip.stores_half = may_be_half && context.plan_computes_half() && (strip.in_half() || plain);
  const bool in_strips = multiplier == 1 && strip.taps <= kMostTaps;
  kernel->body =
      in_strips ? StripBody(strip, out.b == 1, round, serial) : Body(multiplier > 1, round);
  kernel->Grid(CeilDiv(out.w, in_strips ? strip.pixels : 1), out.h, slices);
  SetGroup(gpu, kernel);
}

}  // namespace

std::vector<int> Strip::Columns() const {
  std::vector<int> columns;
  for (int i = 0; i < pixels; ++i) {
    for (int k = 0; k < taps; ++k) columns.push_back(Column(i, k));
  }
  SortOnce(&columns);
  return columns;
}

Status DepthwiseKernels(const KernelContext& context, const Graph& graph, const Node& node,
                        KernelList* list) {
  const Value& weights = graph.value(node.inputs[1]);
  const Shape& shape = weights.shape;
  Conv conv = ConvOf(graph, node, "depthwise_conv2d", list);
  QUADRA_RETURN_IF_ERROR(ResolveWindow(node.attributes, shape.h, shape.w, conv.in, &conv.window));
  KernelDesc& kernel = list->Add(conv.name);
  kernel.Read("src", conv.src);
  kernel.Write("dst", conv.dst);
  const int channels = conv.out.slices() * 4, multiplier = conv.out.c / conv.in.c;
  const auto own = CpuKernelsFor(*context.gpu).depthwise;
  const bool by_columns = own && multiplier == 1 && own(conv, &kernel);
  kernel.Constant("weights", 4, int64_t{conv.taps()} * channels,
                  [constant = weights.constant, shape, by_columns] {
                    return PackWeights(*constant->floats(), shape, by_columns);
                  });
  kernel.Constant("bias", BiasOf(conv, channels));
  AddConvNumbers(conv, &kernel);
  if (multiplier > 1) kernel.Int("multiplier", multiplier);
  if (!by_columns) {
    MakeGpuDepthwise(context, conv.out, conv.window, multiplier, conv.bounds.round(), conv.plain,
                     &kernel);
  }
  return Status();
}

extern const Op kDepthwiseConv2dOp;
const Op kDepthwiseConv2dOp = {
    .name = "depthwise_conv2d",
    .builtins = {kTfLiteBuiltinDepthwiseConv2d, -1},
    .max_version = 7,
    .params_bytes = sizeof(TfLiteDepthwiseConvParams),
    .attributes = QUADRA_TEXT("stride padding"),
    .import = Import,
    .shape = InferShape,
    .kernels = DepthwiseKernels,
    .convolution = Convolution::kDepthwise,
};

}  // namespace quadra
