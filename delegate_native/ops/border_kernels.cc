#include "delegate_native/ops/border_kernels.h"

#include "delegate_native/base/cpu_shapes.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"

namespace quadra {
namespace {

// CPU-shaped: a work-item does a row; GPU-shaped: one pixel of one slice.
constexpr const char* kRow = QUADRA_CPU_TEXT(R"(int y = GLOBAL_X; int s = GLOBAL_Y;
if (y >= $t_h || s >= $t_s * $t_b) { return; }
int b = $batch; int c = (s - b * $t_s) * 4;
int x = 0;
${quads}for (; x < $t_w; ++x) {
int i = ((b * $t_h + y) * $t_w + x) * $t_c + c;
$pixel}
)");
constexpr const char* kPixel = QUADRA_TEXT(R"(int x = GLOBAL_X; int y = GLOBAL_Y; int s = GLOBAL_Z;
if (y >= $t_h || s >= $t_s * $t_b || x >= $t_w) { return; }
int b = $batch; int c = (s - b * $t_s) * 4;
int i = ((b * $t_h + y) * $t_w + x) * $t_c + c;
$pixel)");
constexpr const char* kReadPixel = QUADRA_TEXT(R"($type v = $vector(read_src(i), 0, 0, 0);
if (c + 1 < dst_c) { v.y = read_src(i + 1); }
if (c + 2 < dst_c) { v.z = read_src(i + 2); }
if (c + 3 < dst_c) { v.w = read_src(i + 3); }
write_dst($value, x, y, s);
)");
constexpr const char* kWritePixel = QUADRA_TEXT(R"(num4 v = $from(x, y, s)$to;
write_dst(v.x, i);
if (c + 1 < src_c) { write_dst(v.y, i + 1); }
if (c + 2 < src_c) { write_dst(v.z, i + 2); }
if (c + 3 < src_c) { write_dst(v.w, i + 3); }
)");
// Colours on CPUs, of four pixels at once; the last ones would end behind the memory.
constexpr const char* kReadColours = QUADRA_CPU_TEXT(R"(
int first = (b * dst_h + y) * dst_w * 3, last = dst_b * dst_h * dst_w * 3 - 16;
for (; x + 4 <= dst_w && first + x * 3 <= last; x += 4) {
vec16 n = $numbers;
write_quads_dst(vec16(n.s012, 0.0f, n.s345, 0.0f, n.s678, 0.0f, n.s9ab, 0.0f), x, y, s);
}
)");
// All channels of a pixel before the next: what is written follows on itself.
constexpr const char* kWriteRow = QUADRA_CPU_TEXT(R"(
int y = GLOBAL_X; int b = GLOBAL_Y;
if (y >= src_h || b >= src_b) { return; }
int i = (b * src_h + y) * src_w * src_c;
for (int x = 0; x < src_w; ++x) {
int c = 0;
for (; c + 4 <= src_c; c += 4, i += 4) {
num4 v = $from(x, y, b * src_s + c / 4)$to;
write_dst(v.x, i); write_dst(v.y, i + 1); write_dst(v.z, i + 2); write_dst(v.w, i + 3);
}
if (c < src_c) {
num4 v = $from(x, y, b * src_s + c / 4)$to;
for (; c < src_c; ++c, ++i) { write_dst(v.x, i); v = v.yzww; }
}
}
)");

// `tensor` names the one whose sizes rule; `quads` come before the pixels of a row.
void Shaped(const KernelContext& context, const Shape& shape, const char* tensor,
            const std::string& pixel, const std::string& quads, KernelDesc* kernel) {
  const bool rows = context.gpu->is_cpu();
  Text text(rows ? kRow : kPixel);
  text.Set("t", tensor).Set("pixel", pixel).Set("quads", quads);
  kernel->body = text.Set("batch", shape.b == 1 ? "0" : "s / $t_s");
  if (rows) {
    kernel->Grid(shape.h, shape.slices() * shape.b, 1);
  } else {
    kernel->Grid(shape.w, shape.h, shape.slices() * shape.b);
    kernel->Group(8, 4, 1);
  }
}

}  // namespace

KernelDesc ToSlices(const KernelContext& context, const Graph& graph, const Node& node) {
  const Value& made = graph.value(node.outputs[0]);
  const Shape& shape = made.shape;
  const bool dequantize = node.attributes.Has("scale");
  KernelDesc kernel(dequantize ? node.op : "to_slices");
  kernel.Read("src", node.inputs[0]);
  kernel.Write("dst", node.outputs[0]);
  const char *type = "num4", *vector = type, *value = "v";
  if (dequantize) {
    type = vector = "ivec4";
    value = "(to_float(v) - vec4(zero)) * vec4(scale)";
    for (const char* name : {"zero", "scale"}) {
      kernel.Float(name, node.attributes.Float(name));
    }
  }
  // Large numbers of an input are masks: infinite ones would make NaN of rows that are left out.
  const bool in_half =
      StoresHalf(context.precision) && !made.float32 && !dequantize && IsFloat(made.element);
  if (in_half) type = "sum4_t", vector = "vec4", value = "within_half(v)";
  std::string quads;
  if (kHasCpuShapes && !in_half && context.gpu->is_cpu() && shape.c == 3 && IsFloat(made.element)) {
    quads = Text(kReadColours)
                .Set("numbers", dequantize ? QUADRA_TEXT("(convert_float16(vload16(0, src_data + "
                                                         "first + x * 3)) - zero) * scale")
                                           : "vload16(0, src_data + first + x * 3)");
  }
  Text pixel(kReadPixel);
  pixel.Set("type", type).Set("vector", vector).Set("value", value);
  Shaped(context, shape, "dst", pixel, quads, &kernel);
  return kernel;
}

KernelDesc FromSlices(const KernelContext& context, const Graph& graph, const Node& node) {
  const Shape& shape = graph.shape(node.outputs[0]);
  const bool quantize = node.attributes.Has("scale");
  KernelDesc kernel(quantize ? node.op : "from_slices");
  kernel.Read("src", node.inputs[0]);
  kernel.Write("dst", node.outputs[0]);
  const char *from = "read_src", *to = "";
  if (quantize) {
    from = "to_int(requantize(read_src";
    to = QUADRA_TEXT(", inverse, 1.0f, low, high)) + to_int(vec4(zero))");
    for (const char* name : {"inverse", "zero", "low", "high"}) {
      kernel.Float(name, node.attributes.Float(name));
    }
  }
  if (context.gpu->is_cpu()) {
    kernel.body = Text(kWriteRow).Set("from", from).Set("to", to);
    kernel.Grid(shape.h, shape.b, 1);
    return kernel;
  }
  Shaped(context, shape, "src", Text(kWritePixel).Set("from", from).Set("to", to), "", &kernel);
  return kernel;
}

}  // namespace quadra
