// Kernels whose work-item makes a row: a merged step by itself, and what brings dense numbers into
// slices and back.
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/cpu/wide_kernels.h"

namespace quadra {
namespace {

constexpr const char* kSteps = QUADRA_TEXT(R"(int y = GLOBAL_X; int s = GLOBAL_Y;
if (y >= dst_h || s >= dst_s * dst_b) { return; }
write_row_dst(y, s);
)");
constexpr const char* kToSlices = QUADRA_TEXT(R"(int y = GLOBAL_X; int s = GLOBAL_Y;
if (y >= dst_h || s >= dst_s * dst_b) { return; }
int b = ${many:0,s / dst_s}; int c = (s - b * dst_s) * 4;
int x = 0;
${quads}for (; x < dst_w; ++x) {
int i = ((b * dst_h + y) * dst_w + x) * dst_c + c;
$pixel}
)");
// Colours, of four pixels at once; the last ones would end behind the memory.
constexpr const char* kReadColours = QUADRA_TEXT(R"(
int first = (b * dst_h + y) * dst_w * 3, last = dst_b * dst_h * dst_w * 3 - 16;
for (; x + 4 <= dst_w && first + x * 3 <= last; x += 4) {
vec16 n = $numbers;
write_quads_dst(vec16(n.s012, 0.0f, n.s345, 0.0f, n.s678, 0.0f, n.s9ab, 0.0f), x, y, s);
}
)");
// All channels of a pixel before the next: what is written follows on itself.
constexpr const char* kFromSlices = QUADRA_TEXT(R"(
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

}  // namespace

void MakeRowOfSteps(const Shape& out, KernelDesc* kernel) {
  kernel->body = kSteps;
  kernel->Grid(out.h, out.slices() * out.b, 1);
}

void MakeRowToSlices(const Value& made, bool dequantize, bool bounded, const std::string& pixel,
                     KernelDesc* kernel) {
  const Shape& shape = made.shape;
  const bool colours = !bounded && shape.c == 3 && IsFloat(made.element);
  Text text(kToSlices);
  text.Set("pixel", pixel).Set("quads", colours ? kReadColours : "").Set("many", shape.b > 1);
  text.Set("numbers", dequantize ? QUADRA_TEXT("(convert_float16(vload16(0, src_data + "
                                               "first + x * 3)) - zero) * scale")
                                 : "vload16(0, src_data + first + x * 3)");
  kernel->body = text;
  kernel->Grid(shape.h, shape.slices() * shape.b, 1);
}

void MakeRowFromSlices(const Shape& shape, const char* from, const char* to, KernelDesc* kernel) {
  kernel->body = Text(kFromSlices).Set("from", from).Set("to", to);
  kernel->Grid(shape.h, shape.b, 1);
}

std::string BoundWide(bool round, int lanes, const char* vector) {
  Text text(round ? "$vector = requantize_of(vec$lanes, $vector);"
                  : QUADRA_TEXT("$vector = $vector < low ? low : $vector; "
                                "$vector = $vector > high ? high : $vector;"));
  return text.Set("vector", vector).Set("lanes", lanes);
}

}  // namespace quadra
