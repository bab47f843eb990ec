#include "delegate_native/ops/depthwise_cpu.h"

#include "delegate_native/base/status.h"
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/ops/unroll.h"

namespace quadra {
namespace {

// Rows of the output that a work-item computes together: what one reads, the others use again.
constexpr int kRows = 4;
// Taps, beyond which a window is not written out.
constexpr int kMostTaps = 49;

constexpr const char* kPlace = QUADRA_TEXT(R"(
int row = GLOBAL_X / dilation_y * dilation_y * 4 + GLOBAL_X % dilation_y;
int s = GLOBAL_Y;
int plane = src_w * src_h;
LANES from = src_lanes + s * plane * 4;
int before = s * plane;
int after = (src_s * src_b - s) * plane;
vec4 bias = read_bias(s % dst_s);
int w = s % dst_s * kernel_y * kernel_x;
ivec4 quad = ivec4(0, 1, 2, 3) * stride_x;
ivec16 pixel = ivec16(quad.xxxx, quad.yyyy, quad.zzzz, quad.wwww);
int top = row * stride_y - pad_y;
int line = dilation_y * src_w * 4;
)");

// The pixels of the tile one by one: where vectors would leave the tensor, and of planes that are
// smaller than a vector. Taps go column by column, as the CPU's kernels add them.
std::string Pixels(bool round) {
  const std::string tap = QUADRA_TEXT(R"(
int sy = y * stride_y - pad_y + ky * dilation_y;
if (sx >= 0 && sx < src_w && sy >= 0 && sy < src_h) { sum += read_src(sx, sy, s) * read_weights(k); }
++k;
)");
  const std::string taps =
      Block("for (int kx = 0; kx < kernel_x; ++kx)",
            QUADRA_TEXT("int sx = to * stride_x - pad_x + kx * dilation_x;\n") +
                Block("for (int ky = 0; ky < kernel_y; ++ky)", tap));
  return Block("for (int i = 0; i < 16; ++i)", QUADRA_TEXT(R"(
int to = x + (i & 3);
int y = row + (i >> 2) * dilation_y;
if (to >= dst_w || y >= dst_h) { continue; }
vec4 sum = bias;
int k = w;
)") + taps + "write_dst(" + Bounded(round, "sum") + ", to, y, s);\n");
}

// What the pixels `v` of row `row` of the window, seen through column `kx`, add to the tile's sums.
std::string AddRow(const Window& window, int kx, int row) {
  std::string text;
  for (int i = 0; i < kRows; ++i) {
    const int ky = row - i * window.stride_y;
    if (ky >= 0 && ky < window.kernel_y)
      text += TextOf("a%d += v * w%d;\n", i, kx * window.kernel_y + ky);
  }
  return text;
}

// The tile's sums. Each vector of four pixels is read once for all rows of the output; of every
// second pixel, two vectors hold those of two columns. Rows outside the image add nothing, columns
// outside are zeros. Taps go column by column, as the CPU's kernels add them.
std::string Sums(const Window& window) {
  const int rows = (kRows - 1) * window.stride_y + window.kernel_y, step = window.stride_x;
  std::string text = Unroll(kRows, "vec16 a$ = vec16(bias, bias, bias, bias);\n") +
                     "LANES p = from + (top * src_w + left) * 4;\n" +
                     Unroll(window.kernel_x,
                            QUADRA_TEXT("ivec16 in$ = as_uint16(pixel + (left + $ * dilation_x)) < "
                                        "uvec16(src_w);\n"));
  for (int kx = 0; kx < window.kernel_x; kx += step) {
    for (int row = 0; row < rows; ++row) {
      const std::string at = TextOf("p + (%d * line + %d * dilation_x * 4)", row, kx);
      std::string add;
      if (step == 1) {
        add = "vec16 v = quads_at(" + at + ");\n" +
              TextOf("v = in%d != 0 ? v : vec16(0.0f);\n", kx) + AddRow(window, kx, row);
      } else {
        add = TextOf("vec16 e = quads_at(%s), f = quads_at(%s + 16);\n", at.c_str(), at.c_str()) +
              TextOf(
                  "vec16 v = vec16(e.s0123, e.s89ab, f.s0123, f.s89ab);\n"
                  "v = in%d != 0 ? v : vec16(0.0f);\n",
                  kx) +
              AddRow(window, kx, row);
        if (kx + 1 < window.kernel_x) {
          add += TextOf(
                     "v = vec16(e.s4567, e.scdef, f.s4567, f.scdef);\n"
                     "v = in%d != 0 ? v : vec16(0.0f);\n",
                     kx + 1) +
                 AddRow(window, kx + 1, row);
        }
      }
      text += Block(Format("if (row%d)", row), add);
    }
  }
  return text;
}

std::string Store(bool round) {
  std::string text = Unroll(kRows, BoundWide(round, 16, "a$"));
  for (int i = 0; i < kRows; ++i) {
    const std::string row = TextOf("row + %d * dilation_y", i);
    text +=
        Block("if (" + row + " < dst_h)", TextOf("write_quads_dst(a%d, x, ", i) + row + ", s);\n");
  }
  return text;
}

}  // namespace

bool IsWideDepthwise(const Window& window) {
  const int stride = window.stride_x;
  return stride == window.stride_y && window.kernel_x * window.kernel_y <= kMostTaps &&
         (stride == 1 || (stride == 2 && window.dilation_x == 1 && window.dilation_y == 1));
}

void MakeWideDepthwise(const Shape& out, const Window& window, bool round, KernelDesc* kernel) {
  const int rows = (kRows - 1) * window.stride_y + window.kernel_y;
  const int reach = window.stride_x == 1 ? 4 : (window.kernel_x - 1) / 2 * 2 + 8;
  std::string body = kPlace;
  body += TextOf("int reach = %s%d;\n",
                 window.stride_x == 1 ? "(kernel_x - 1) * dilation_x + " : "", reach);
  for (int i = 0; i < rows; ++i) {
    body += TextOf("bool row%d = top + %d * dilation_y >= 0 && top + %d * dilation_y < src_h;\n", i,
                   i, i);
  }
  body += Unroll(window.kernel_x * window.kernel_y,
                 QUADRA_TEXT("vec4 k$ = read_weights(w + $); vec16 w$ = vec16(k$, k$, k$, k$);\n"));
  body += TextOf("int bottom = min(top + %d * dilation_y, src_h - 1);\n", rows - 1);
  body += Block("for (int tile = 0; tile < dst_w; tile += 4)", QUADRA_TEXT(R"(
int x = max(0, min(tile, dst_w - 4));
int left = x * stride_x - pad_x;
bool near = dst_w >= 4 && before + max(top, 0) * src_w + left >= 0 &&
            bottom * src_w + left + reach <= after;
)") + Block("if (near)", Sums(window) + Store(round)) + Block("else", Pixels(round)));
  kernel->body = body;
  kernel->Grid(CeilDiv(CeilDiv(out.h, window.dilation_y), kRows) * window.dilation_y,
               out.slices() * out.b, 1);
}

}  // namespace quadra
