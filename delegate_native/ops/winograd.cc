// Polynomials are multiplied at 0, at plus and minus the roots of 1/2 and of 2, and at infinity: of
// the usual points these have the smallest errors. Tiles of the source are divided by 4 along both
// axes, sums multiplied by it: what is kept between the kernels is less than twice the numbers of
// source and result, and half holds it. Powers of two cost no accuracy.
#include "delegate_native/ops/winograd.h"

#include <algorithm>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/grid.h"

namespace quadra {
namespace {

constexpr int kStep = 4;          // results of a tile along an axis
constexpr int kSide = kStep + 2;  // pixels that these need; and points
constexpr int kMatrices = kSide * kSide;

// Transforms [out][3][3][in] to the weights of each point: [point][out][in].
SharedFloats TransformWeights(const float* from, int out_c, int in_c) {
  constexpr float kRow[kSide][3] = {{1, 0, 0},
                                    {-2.0f / 3, -0.47140452f, -1.0f / 3},
                                    {-2.0f / 3, 0.47140452f, -1.0f / 3},
                                    {1.0f / 6, 0.23570226f, 1.0f / 3},
                                    {1.0f / 6, -0.23570226f, 1.0f / 3},
                                    {0, 0, 1}};
  std::vector<float> to;
  to.reserve(size_t{kMatrices} * static_cast<size_t>(out_c * in_c));
  for (int point = 0; point < kMatrices; ++point) {
    const float *row = kRow[point / kSide], *column = kRow[point % kSide];
    for (int i = 0; i < out_c * in_c; ++i) {
      const float* taps = from + std::ptrdiff_t{i / in_c} * 9 * in_c + i % in_c;
      float sum = 0.0f;
      for (int tap = 0; tap < 9; ++tap) {
        sum += row[tap / 3] * column[tap % 3] * taps[std::ptrdiff_t{tap} * in_c];
      }
      to.push_back(sum);
    }
  }
  return Share(std::move(to));
}

// Row y of a grid in which a row of tiles has $parts rows, a part each. `tile` counts tiles, `top`
// pixels.
constexpr const char* kFindRow = QUADRA_TEXT(R"(
int tile = y / $parts; int part = y - tile * $parts; int top = tile * 4;
int b = s / ${tensor}_s; int slice = s - b * ${tensor}_s;
tile = (b * tiles_h + tile) * tiles_w;
$rest)");

// Each part makes a row of points from three or four rows of pixels, of which it skips some.
constexpr const char* kPixelRows = QUADRA_TEXT(R"(
bool ends = part % 5 == 0, small = part < 3;
sum_t k0 = ends ? 0.25f : small ? -0.35355339f : -0.17677670f;
sum_t k1 = ends ? -0.625f : small ? -0.5f : -0.125f;
sum_t k2 = ends ? 0.25f : small ? 0.17677670f : 0.35355339f;
sum_t k3 = 0.25f;
if (!ends && part % 2 == 0) { k0 = -k0; k2 = -k2; }
top -= pad_y - min(part, 1);
int apart = ends ? 2 : 1;
$for(i, 4)

int y$i = top + apart * $i;
bool in$i = y$i >= 0 && y$i < src_h && !(ends && $i == 3);
src_at row$i = at_src(0, clamp(y$i, 0, src_h - 1), s);
sum4_t v$i;
$end
)");

// A work-item's part of tile x: points of the source,
constexpr const char* kPoints = QUADRA_TEXT(R"(int left = x * 4 - pad_x;
bool here;
int at;
$for(c, 6)
at = clamp(left + $c, 0, src_w - 1); here = at == left + $c;
$for(i, 4)
v$i = fetch_src(row$i + along_src(at));
if (!(here && in$i)) { v$i = vec4(0.0f); }
$end
sum4_t a$c = k0 * v0 + k1 * v1 + k2 * v2 + k3 * v3;
$end

int to = part * 6 * dst_s + slice;
sum4_t even, odd;
write_dst(0.25f * (a0 + a4) - 0.625f * a2, tile + x, 0, to);
even = 0.25f * a4 - 0.5f * a2; odd = 0.17677670f * a3 - 0.35355339f * a1;
write_dst(even + odd, tile + x, 0, to + dst_s);
write_dst(even - odd, tile + x, 0, to + dst_s * 2);
even = 0.25f * a4 - 0.125f * a2; odd = 0.35355339f * a3 - 0.17677670f * a1;
write_dst(even + odd, tile + x, 0, to + dst_s * 3);
write_dst(even - odd, tile + x, 0, to + dst_s * 4);
write_dst(0.25f * (a1 + a5) - 0.625f * a3, tile + x, 0, to + dst_s * 5);
)");

// Each part makes a row of results.
constexpr const char* kProductRows = QUADRA_TEXT(R"(
bool odd = part % 2 > 0, early = part < 2;
sum_t flip = odd ? -1.0f : 1.0f, k0 = part % 3 == 0 ? 4.0f : 0.0f;
sum_t k1 = odd ? (early ? 2.82842712f : 1.41421356f) : early ? 4.0f : 2.0f;
sum_t k2 = odd ? (early ? 5.65685425f : 11.3137085f) : early ? 4.0f : 8.0f;
src_at next = src_slice * src_s;
sum4_t bias = read_bias(slice);
sum4_t v0, v1, v2, v3;
top += part;
)");

// and results.
constexpr const char* kResults = QUADRA_TEXT(R"(if (top < dst_h) {

src_at p = at_src(tile + x, 0, slice);
src_at p0 = p + next * (odd ? 30 : 0);
$for(c, 6)

v0 = fetch_src(p + next * 12);
v1 = fetch_src(p + next * 6) + flip * v0;
v0 = fetch_src(p + next * 24);
v2 = fetch_src(p + next * 18) + flip * v0;
v0 = fetch_src(p0);
if (part % 3 != 0) { v0 = vec4(0.0f); }
sum4_t a$c = k0 * v0 + k1 * v1 + k2 * v2;
p += next; p0 += next;
$end

v0 = a1 + a2; v2 = a3 + a4; v1 = a1 - a2; v3 = a3 - a4;
a0 = 4.0f * (a0 + v0 + v2) + bias;
a1 = 2.82842712f * v1 + 5.65685425f * v3 + bias;
a2 = 2.0f * v0 + 8.0f * v2 + bias;
a3 = 1.41421356f * v1 + 11.3137085f * v3 + 4.0f * a5 + bias;
$for(i, 4)
if (x * 4 + $i < dst_w) {
write_dst($bounded, x * 4 + $i, top, s);
}
$end
}
)");

std::string Row(int parts, const char* tensor, const char* rest) {
  return Text(kFindRow).Set("parts", parts).Set("tensor", tensor).Set("rest", rest);
}

// Points of the source, or their sums, of so many channels.
Shape PointsOf(int64_t tiles, int channels) {
  Shape points;
  points.b = kMatrices;
  points.w = static_cast<int>(tiles);
  points.c = channels;
  return points;
}

bool Fits(const GpuInfo& gpu, int64_t tiles, int slices) {
  const int64_t most = std::min<int64_t>(gpu.max_buffer_bytes, INT32_MAX) / 16 / kMatrices;
  return tiles <= most / slices;
}

// The weights are four times as many: those of vectors of 32 results at most.
bool WeightsFit(const GpuInfo& gpu, const Conv& conv) {
  return int64_t{kMatrices} * conv.in.slices() * CeilDiv(conv.out.c, 32) * 512 <=
         gpu.max_buffer_bytes;
}

bool Pays(const GpuInfo& gpu, const Conv& conv, int64_t tiles) {
  const Window& window = conv.window;
  return window.kernel_y == 3 && window.kernel_x == 3 && window.stride_y * window.stride_x == 1 &&
         window.dilation_y * window.dilation_x == 1 && !conv.deep() && !conv.scattered() &&
         conv.groups == 1 && std::min(conv.in.c, conv.out.c) >= gpu.winograd_channels &&
         tiles >= gpu.winograd_tiles && WeightsFit(gpu, conv) &&
         Fits(gpu, tiles, std::max(conv.in.slices(), conv.out.slices()));
}

}  // namespace

bool AddWinograd(const KernelContext& context, const Conv& conv, KernelList* list) {
  const int tiles_w = CeilDiv(conv.out.w, kStep), tiles_h = CeilDiv(conv.out.h, kStep);
  const int64_t tiles = int64_t{tiles_w} * tiles_h * conv.out.b;
  if (!Pays(*context.gpu, conv, tiles)) return false;
  Conv products;
  products.name = "winograd_products";
  products.matrices = kMatrices;
  products.in = PointsOf(tiles, conv.in.c);
  products.out = PointsOf(tiles, conv.out.c);
  products.src = list->AddScratch(products.in);
  products.dst = list->AddScratch(products.out);
  products.weights = [conv] {
    return TransformWeights(conv.weights()->data(), conv.out.c, conv.in.c);
  };
  const auto add = [&](const char* name, int src, int dst) {
    KernelDesc& kernel = list->Add(name);
    kernel.Read("src", src);
    kernel.Write("dst", dst);
    kernel.Int("tiles_w", tiles_w);
    kernel.Int("tiles_h", tiles_h);
    return &kernel;
  };
  KernelDesc* kernel = add("winograd_source", conv.src, products.src);
  kernel->Int("pad_x", conv.window.pad_left);
  kernel->Int("pad_y", conv.window.pad_top);
  std::string row = Row(kSide, "src", kPixelRows);
  std::string tile = Text(kPoints);
  LoopOver(context, tiles_w, tiles_h * kSide, conv.in.slices() * conv.in.b,
           {{"tiles_w", "tiles_h * 6", "src_s * src_b"}, row.c_str(), tile.c_str()}, kernel);
  AddConv(context, products, list);
  kernel = add("winograd_result", products.dst, conv.dst);
  kernel->Constant("bias", BiasOf(conv, conv.out.slices() * 4));
  conv.bounds.AddNumbers(kernel);
  row = Row(kStep, "dst", kProductRows);
  tile = Text(kResults).Set("bounded", Bounded(conv.bounds.round(), "a$i"));
  LoopOver(context, tiles_w, tiles_h * kStep, conv.out.slices() * conv.out.b,
           {{"tiles_w", "tiles_h * 4", "dst_s * dst_b"}, row.c_str(), tile.c_str()}, kernel);
  return true;
}

}  // namespace quadra
