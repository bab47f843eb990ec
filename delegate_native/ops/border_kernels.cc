#include "delegate_native/ops/border_kernels.h"

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/cpu_kernels.h"
#include "delegate_native/ops/grid.h"

namespace quadra {
namespace {

// `thin`: one slice, so that every pixel has the same channels. `lanes`: how many of a slice's four
// each slice has; 0: not all have as many.
constexpr const char* kPixel = QUADRA_TEXT(R"(int x = GLOBAL_X; int y = GLOBAL_Y; int s = GLOBAL_Z;
if (y >= $t_h || s >= $t_s * $t_b || x >= $t_w) { return; }
$if(thin) int i = (y * $t_w + x) * $lanes;
$if(!thin)
int b = $batch; int c = (s - b * $t_s) * 4;
int i = ((b * $t_h + y) * $t_w + x) * $t_c + c;
$end
$pixel)");
constexpr const char* kReadPixel = QUADRA_TEXT(R"(
$if(lanes)
$type v = $vector(read_src(i), ${two:0,read_src(i + 1)}, ${three:0,read_src(i + 2)}, ${four:0,read_src(i + 3)});
$end
$if(!lanes)
$type v = $vector(read_src(i), 0, 0, 0);
if (c + 1 < dst_c) { v.y = read_src(i + 1); }
if (c + 2 < dst_c) { v.z = read_src(i + 2); }
if (c + 3 < dst_c) { v.w = read_src(i + 3); }
$end
write_dst($value, x, y, s);
)");
constexpr const char* kWritePixel = QUADRA_TEXT(R"(num4 v = $from(x, y, s)$to;
write_dst(v.x, i);
$if(lanes)
$if(two) write_dst(v.y, i + 1);
$if(three) write_dst(v.z, i + 2);
$if(four) write_dst(v.w, i + 3);
$end
$if(!lanes)
if (c + 1 < src_c) { write_dst(v.y, i + 1); }
if (c + 2 < src_c) { write_dst(v.z, i + 2); }
if (c + 3 < src_c) { write_dst(v.w, i + 3); }
$end
)");

bool IsThin(const Shape& shape) { return shape.slices() * shape.b == 1; }

int LanesOf(const Shape& shape) { return IsThin(shape) ? shape.c : shape.c % 4 == 0 ? 4 : 0; }

Text PixelText(const char* words, const Shape& shape) {
  const int lanes = LanesOf(shape);
  Text text(words);
  text.Set("lanes", lanes).Set("two", lanes > 1).Set("three", lanes > 2).Set("four", lanes > 3);
  return text;
}

// `tensor` names the one whose sizes rule.
void MakePixels(const GpuInfo& gpu, const Shape& shape, const char* tensor,
                const std::string& pixel, KernelDesc* kernel) {
  Text text(kPixel);
  text.Set("t", tensor).Set("pixel", pixel).Set("thin", IsThin(shape)).Set("lanes", LanesOf(shape));
  kernel->body = text.Set("batch", shape.b == 1 ? "0" : "s / $t_s");
  kernel->Grid(shape.w, shape.h, shape.slices() * shape.b);
  SetGroup(gpu, kernel);
}

}  // namespace

KernelDesc ToSlices(const KernelContext& context, const Graph& graph, const Node& node) {
  const Value& made = graph.value(node.outputs[0]);
  const Shape& shape = made.shape;
  const bool dequantize = node.attributes.Has("scale");
  KernelDesc kernel(dequantize ? node.op : "to_slices");
  kernel.ReadDense("src", node.inputs[0]);
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
  Text pixel = PixelText(kReadPixel, shape);
  pixel.Set("type", type).Set("vector", vector).Set("value", value);
  if (const auto own = CpuKernelsFor(*context.gpu).to_slices) {
    own(made, dequantize, in_half, pixel, &kernel);
  } else {
    MakePixels(*context.gpu, shape, "dst", pixel, &kernel);
  }
  return kernel;
}

KernelDesc FromSlices(const KernelContext& context, const Graph& graph, const Node& node) {
  const Shape& shape = graph.shape(node.outputs[0]);
  const bool quantize = node.attributes.Has("scale");
  KernelDesc kernel(quantize ? node.op : "from_slices");
  kernel.Read("src", node.inputs[0]);
  kernel.WriteDense("dst", node.outputs[0]);
  const char *from = "read_src", *to = "";
  if (quantize) {
    from = "to_int(requantize(read_src";
    to = QUADRA_TEXT(", inverse, 1.0f, low, high)) + to_int(vec4(zero))");
    for (const char* name : {"inverse", "zero", "low", "high"}) {
      kernel.Float(name, node.attributes.Float(name));
    }
  }
  if (const auto own = CpuKernelsFor(*context.gpu).from_slices) {
    own(shape, from, to, &kernel);
  } else {
    MakePixels(*context.gpu, shape, "src",
               PixelText(kWritePixel, shape).Set("from", from).Set("to", to), &kernel);
  }
  return kernel;
}

}  // namespace quadra
