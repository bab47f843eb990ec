#include "delegate_native/ops/depthwise_cpu.h"

#include "delegate_native/kernel/packed_text.h"
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/ops/unroll.h"

namespace quadra {
namespace {

// Rows of the output that a work-item computes together: they share weights and masks.
constexpr int kRows = 4;  // as many as an ivec4 has places

constexpr const char* kPlace = QUADRA_TEXT(R"(
int s = GLOBAL_Y;
int plane = src_w * src_h;
LANES from = src_lanes + s * plane * 4;
int before = s * plane;
int after = (src_s * src_b - s) * plane;
vec4 bias = read_bias(s % dst_s);
int first_weight = s % dst_s * kernel_y * kernel_x;
ivec4 quad = ivec4(0, 1, 2, 3) * stride_x;
ivec16 pixel = ivec16(quad.xxxx, quad.yyyy, quad.zzzz, quad.wwww);
int top = row * stride_y - pad_y;
ivec4 tops = ivec4(0, 1, 2, 3) * stride_y + top;
bool rows_inside = top >= 0 && top + 3 * stride_y + (kernel_y - 1) * dilation_y < src_h;
int next_row = stride_y * src_w * 4;
int reach = (kernel_x - 1) * dilation_x + 4 * stride_x;
int last = ((top + 3 * stride_y + (kernel_y - 1) * dilation_y) * src_w) + reach;
)");

// How four pixels of row $ are read: as one vector, as every second pixel, or one by one from
// inside the image where a vector would leave the tensor and for larger strides.
std::string Load() {
  return Block("if (near && stride_x == 1)", Unroll(kRows, "v$ = quads_at(p + $ * next_row);\n")) +
         Block("else if (near)",
               Unroll(kRows,
                      "v$ = vec16(quad_at(p + $ * next_row), quad_at(p + $ * next_row + 8), "
                      "quad_at(p + $ * next_row + 16), quad_at(p + $ * next_row + 24));\n")) +
         Block("else", QUADRA_TEXT(R"(
ivec4 xs = quad + column;
xs = xs < 0 ? 0 : xs;
xs = (xs >= src_w ? src_w - 1 : xs) * 4;
ivec4 ys = y < 0 ? 0 : y;
ys = (ys >= src_h ? src_h - 1 : ys) * (src_w * 4);
)") + Unroll(kRows, QUADRA_TEXT(R"({
LANES q = from + ys.s$;
v$ = vec16(quad_at(q + xs.s0), quad_at(q + xs.s1), quad_at(q + xs.s2), quad_at(q + xs.s3));
}
)")));
}

// What a tap adds to the sums. What is read in place of a column or row outside the image is
// multiplied by zero.
std::string Tap() {
  return QUADRA_TEXT(R"(
ivec4 y = tops + ky * dilation_y;
vec4 k = read_weights(w); ++w;
vec16 weight = inside != 0 ? vec16(k, k, k, k) : vec16(0.0f);
)") + Unroll(kRows, "vec16 v$;\n") +
         Load() + Block("if (rows_inside)", Unroll(kRows, "a$ += v$ * weight;\n")) +
         Block("else",
               "ivec4 valid = (y >= 0) & (y < src_h);\n" +
                   Unroll(kRows, "a$ += v$ * (ivec16(valid.s$) != 0 ? weight : vec16(0.0f));\n")) +
         "p += dilation_y * src_w * 4;\n";
}

// Taps go column by column, as the CPU's kernels add them: results agree to the last bit.
std::string Taps() {
  return Block("for (int kx = 0; kx < kernel_x; ++kx)", QUADRA_TEXT(R"(
int column = left + kx * dilation_x;
ivec16 inside = as_uint16(pixel + column) < uvec16(src_w);
LANES p = from + (top * src_w + column) * 4;
)") + Block("for (int ky = 0; ky < kernel_y; ++ky)", Tap()));
}

// Stores what lies inside the image, pixel by pixel.
std::string StorePixels() {
  static const char* const kQuads[] = {"s0123", "s4567", "s89ab", "scdef"};
  std::string text;
  // Backwards: a column is there only if the one before it is.
  for (int i = 4; i-- > 0;) {
    std::string column = Format("write_dst(a0.%s, x + %d, row, s);\n", kQuads[i], i);
    for (int j = 1; j < kRows; ++j) {
      column += Format("if (row + %d < dst_h) { write_dst(a%d.%s, x + %d, row + %d, s); }\n", j, j,
                       kQuads[i], i, j);
    }
    text.insert(0, column);
    if (i) text = Block(Format("if (x + %d < dst_w)", i), text);
  }
  return text;
}

std::string Store(bool plain, bool round) {
  const std::string bound = Unroll(kRows, BoundWide(round, 16, "a$"));
  if (!plain) return bound + StorePixels();
  return bound +
         Block(Format("if (dst_w >= 4 && dst_h >= %d)", kRows),
               "int at = ((s * dst_h + row) * dst_w + x) * 4;\n" +
                   Unroll(kRows, "put_quads(a$, dst_lanes + (at + $ * dst_w * 4));\n")) +
         Block("else", StorePixels());
}

}  // namespace

void MakeWideDepthwise(const Shape& out, bool plain, bool round, KernelDesc* kernel) {
  kernel->opencl_only = true;
  const std::string tile = QUADRA_TEXT(R"(
int x = tile > dst_w - 4 ? (dst_w > 4 ? dst_w - 4 : 0) : tile;
int left = x * stride_x - pad_x;
int w = first_weight;
bool near = stride_x <= 2 && before + top * src_w + left >= 0 && last + left <= after;
)") + Unroll(kRows, "vec16 a$ = vec16(bias, bias, bias, bias);\n") +
                           Taps() + Store(plain, round);
  kernel->body =
      Format(
          "int row = GLOBAL_X * %d;\nrow = row > dst_h - %d ? (dst_h > %d ? dst_h - %d : 0) : row;",
          kRows, kRows, kRows, kRows) +
      kPlace + Block("for (int tile = 0; tile < dst_w; tile += 4)", tile);
  kernel->Grid(CeilDiv(out.h, kRows), out.slices() * out.b, 1);
}

}  // namespace quadra
