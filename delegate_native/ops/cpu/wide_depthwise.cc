// Depthwise convolutions: four pixels of one slice in a vector.
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/cpu/wide_kernels.h"

namespace quadra {
namespace {

// Rows of the output that a work-item computes together: what one reads, the others use again.
constexpr int kRows = 4;
// Taps, beyond which a window is not written out.
constexpr int kMostTaps = 49;

constexpr const char* kBody = QUADRA_TEXT(R"(
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
int reach = ${stride-1:(kernel_x - 1) * dilation_x + ,}$reach;
$for(r, sources) bool row$r = top + $r * dilation_y >= 0 && top + $r * dilation_y < src_h;
$for(k, taps) vec4 k$k = read_weights(w + $k); vec16 w$k = vec16(k$k, k$k, k$k, k$k);
int bottom = min(top + ${sources-1} * dilation_y, src_h - 1);
for (int tile = 0; tile < dst_w; tile += 4) {

int x = max(0, min(tile, dst_w - 4));
int left = x * stride_x - pad_x;
bool near = dst_w >= 4 && before + max(top, 0) * src_w + left >= 0 &&
            bottom * src_w + left + reach <= after;
if (near) {
$for(i, rows) vec16 a$i = vec16(bias, bias, bias, bias);
LANES p = from + (top * src_w + left) * 4;
$for(k, columns) ivec16 in$k = as_uint16(pixel + (left + $k * dilation_x)) < uvec16(src_w);
$sums$for(i, rows) $bound
$for(i, rows)
if (row + $i * dilation_y < dst_h) {
write_quads_dst(a$i, x, row + $i * dilation_y, s);
}
$end
}
else {
$pixels}
}
)");

// The pixels of the tile one by one: where vectors would leave the tensor, and of planes that are
// smaller than a vector. Taps go column by column, as the CPU's kernels add them.
constexpr const char* kPixels = QUADRA_TEXT(R"(for (int i = 0; i < 16; ++i) {

int to = x + (i & 3);
int y = row + (i >> 2) * dilation_y;
if (to >= dst_w || y >= dst_h) { continue; }
vec4 sum = bias;
int k = w;
for (int kx = 0; kx < kernel_x; ++kx) {
int sx = to * stride_x - pad_x + kx * dilation_x;
for (int ky = 0; ky < kernel_y; ++ky) {

int sy = y * stride_y - pad_y + ky * dilation_y;
if (sx >= 0 && sx < src_w && sy >= 0 && sy < src_h) { sum += read_src(sx, sy, s) * read_weights(k); }
++k;
}
}
write_dst($bounded, to, y, s);
}
)");

// A row of the source, of which each vector of four pixels is read once for all rows of the output.
constexpr const char* kRow = QUADRA_TEXT(R"(if (row$row) {
vec16 v = quads_at(p + ($row * line + $column * dilation_x * 4));
v = in$column != 0 ? v : vec16(0.0f);
$products}
)");
// With a stride of two, two vectors hold the pixels of two columns.
constexpr const char* kRowOfTwo = QUADRA_TEXT(R"(if (row$row) {
vec16 e = quads_at(p + ($row * line + $column * dilation_x * 4)), f = quads_at(p + ($row * line + $column * dilation_x * 4) + 16);
vec16 v = vec16(e.s0123, e.s89ab, f.s0123, f.s89ab);
v = in$column != 0 ? v : vec16(0.0f);
$products$if(two)
v = vec16(e.s4567, e.scdef, f.s4567, f.scdef);
v = in${column+1} != 0 ? v : vec16(0.0f);
$next$end
}
)");

// Adds to the tile's sums the pixels `v` of row `row` of the window, as seen through column `kx`.
std::string AddRow(const Window& window, int kx, int row) {
  std::string text;
  for (int i = 0; i < kRows; ++i) {
    const int ky = row - i * window.stride_y;
    if (ky < 0 || ky >= window.kernel_y) continue;
    text += Text("a$i += v * w$k;\n").Set("i", i).Set("k", kx * window.kernel_y + ky).str();
  }
  return text;
}

// The tile's sums. Rows outside the image add nothing, columns outside are zeros. Taps go column by
// column, as the CPU's kernels add them.
std::string Sums(const Window& window, int rows) {
  const int step = window.stride_x;
  std::string sums;
  for (int kx = 0; kx < window.kernel_x; kx += step) {
    for (int row = 0; row < rows; ++row) {
      Text text(step == 1 ? kRow : kRowOfTwo);
      text.Set("row", row).Set("column", kx).Set("two", kx + 1 < window.kernel_x);
      text.Set("products", AddRow(window, kx, row)).Set("next", AddRow(window, kx + 1, row));
      sums += text.str();
    }
  }
  return sums;
}

// Strides of one or two, small windows.
bool IsFor(const Window& window) {
  const int stride = window.stride_x;
  return stride == window.stride_y && window.kernel_x * window.kernel_y <= kMostTaps &&
         (stride == 1 || (stride == 2 && window.dilation_x == 1 && window.dilation_y == 1));
}

}  // namespace

bool MakeWideDepthwise(const Conv& conv, KernelDesc* kernel) {
  const Window& window = conv.window;
  if (!IsFor(window)) return false;
  const bool round = conv.bounds.round();
  const int rows = (kRows - 1) * window.stride_y + window.kernel_y;
  const int reach = window.stride_x == 1 ? 4 : (window.kernel_x - 1) / 2 * 2 + 8;
  Text text(kBody);
  text.Set("stride", window.stride_x).Set("reach", reach).Set("rows", kRows).Set("sources", rows);
  text.Set("taps", window.kernel_x * window.kernel_y).Set("columns", window.kernel_x);
  text.Set("sums", Sums(window, rows)).Set("bound", BoundWide(round, 16, "a$i"));
  kernel->body = text.Set("pixels", Text(kPixels).Set("bounded", Bounded(round, "sum")).str());
  kernel->Grid(CeilDiv(CeilDiv(conv.out.h, window.dilation_y), kRows) * window.dilation_y,
               conv.out.slices() * conv.out.b, 1);
  return true;
}

}  // namespace quadra
