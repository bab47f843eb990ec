#include "delegate_native/ops/conv_tiles.h"

#include <algorithm>

#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/unroll.h"

namespace quadra {
namespace {

// GPU-shaped: a work-item computes `pixels` neighbours of a row in `slices` slices.
struct QuadTile {
  int pixels, slices;
};

// Larger tiles read less, smaller ones make more work-items: the first row wins that leaves enough.
constexpr int kEnoughItems = 4096;
constexpr QuadTile kQuadTiles[] = {{4, 2}, {2, 2}, {2, 1}, {1, 1}};

// By the vectors' width; the tile leaves registers for weights and broadcasts.
const WideTile kWideTiles[] = {{16, 1, 8}, {8, 2, 6}};

// Where work-items run one after another, many of them are no gain: tiles are as large as registers
// and the compiler's time allow.
QuadTile FlatTile(int w, int out_slices) {
  if (w == 1) return {1, std::min(4, out_slices)};
  return {w >= 5 ? 8 : 4, std::min(2, out_slices)};
}

int ItemsOf(const QuadTile& tile, int w, int h, const Shape& out) {
  return CeilDiv(w, tile.pixels) * h * CeilDiv(out.slices(), tile.slices) * out.b;
}

QuadTile TileFor(const GpuInfo& gpu, int w, int h, const Shape& out) {
  if (gpu.flat_group > 0) return FlatTile(w, out.slices());
  const QuadTile* tile = kQuadTiles;
  while (tile->pixels * tile->slices > 1 && ItemsOf(*tile, w, h, out) < kEnoughItems) ++tile;
  return *tile;
}

std::string Sum(const QuadTile& t, const char* lane, int at) {
  return Unroll(t.slices, Format("w$ = read_weights(w + %d + $);\n", at * t.slices)) +
         Unroll(t.pixels, t.slices, std::string("a$_@ += v$.") + lane + " * w@;\n");
}

// `limit_x` ends the row that is read: the plane, when the whole plane is one row.
std::string QuadBody(const QuadTile& t, bool scattered) {
  std::string text = Format(R"(
int x = GLOBAL_X * %d; int y = GLOBAL_Y; int z = GLOBAL_Z;
if (x >= grid_w || y >= grid_h || z >= blocks * dst_b) { return; }
int b = z / blocks; int o = (z - b * blocks) * %d;
int w = o * kernel_y * kernel_x * src_s * 4;
)", t.pixels, t.slices);
  text += Unroll(t.slices, "vec4 w$;\n");
  text += Unroll(t.pixels, t.slices, "sum4_t a$_@ = read_bias(o + @);\n");
  text += R"(
for (int ky = 0; ky < kernel_y; ++ky) {
int sy = y * stride_y - pad_y + ky * dilation_y;
bool row = sy >= 0 && sy < src_h;
for (int kx = 0; kx < kernel_x; ++kx) {
)";
  text += Unroll(t.pixels, Format(R"(int x$ = (x + $) * stride_x - pad_x + kx * dilation_x;
bool in$ = row && x$ >= 0 && x$ < limit_x;
)"));
  text += "for (int i = 0; i < src_s; ++i) {\n";
  text += Unroll(t.pixels, "vec4 v$ = vec4(0.0f);\nif (in$) { v$ = read_src(x$, sy, b * src_s + i); }\n");
  const char* const lanes[] = {"x", "y", "z", "w"};
  for (int k = 0; k < 4; ++k) text += Sum(t, lanes[k], k);
  text += Format("w += %d;\n}\n}\n}\n", 4 * t.slices);
  for (int k = 0; k < t.slices; ++k) {
    if (k) text += Format("if (o + %d < dst_s) {\n", k);
    for (int i = 0; i < t.pixels; ++i) {
      const char* const place = scattered ? "(x + %d) * step_x + first_x, y * step_y + first_y"
                                          : "x + %d, y";
      if (i) text += Format("if (x + %d < grid_w) { ", i);
      text += Format("write_dst(below(above(a%d_%d, vec4(low)), vec4(high)), ", i, k) + Format(place, i) +
              Format(", b * dst_s + o + %d);%s\n", k, i ? " }" : "");
    }
    if (k) text += "}\n";
  }
  return text;
}

void AddQuadConv(const KernelContext& context, const Conv& conv, KernelList* list) {
  const Window& window = conv.window;
  const bool buffers = context.StorageOf(conv.in) == Storage::kBuffer &&
                       context.StorageOf(conv.out) == Storage::kBuffer;
  const bool pointwise = window.kernel_y * window.kernel_x * window.stride_y * window.stride_x == 1 &&
                         window.pad_top == 0 && window.pad_left == 0 && !conv.scattered();
  const bool flat = buffers && pointwise && conv.flat_epilogue && conv.in.w == conv.out.w;
  const int w = flat ? conv.grid_w() * conv.grid_h() : conv.grid_w();
  const int h = flat ? 1 : conv.grid_h();
  const QuadTile tile = TileFor(*context.gpu, w, h, conv.out);
  const int blocks = CeilDiv(conv.out.slices(), tile.slices);
  const int lanes = tile.slices * 4;
  KernelDesc& kernel = list->Add(conv.name);
  kernel.Read("src", conv.src);
  kernel.Write("dst", conv.dst);
  kernel.Constant("weights", PackConvWeights(conv, lanes, conv.in.slices() * 4));
  kernel.Constant("bias", BiasOf(conv, blocks * lanes));
  AddConvNumbers(conv, &kernel);
  kernel.Int("grid_w", w);
  kernel.Int("grid_h", h);
  kernel.Int("limit_x", flat ? w : conv.in.w);
  kernel.Int("blocks", blocks);
  kernel.body = QuadBody(tile, conv.scattered());
  kernel.Grid(CeilDiv(w, tile.pixels), h, blocks * conv.out.b);
  if (!context.gpu->is_cpu()) SetGpuGroup(*context.gpu, &kernel);
}

}  // namespace

std::vector<float> BiasOf(const Conv& conv, int count) {
  std::vector<float> bias = conv.bias;
  bias.resize(static_cast<size_t>(count), 0.0f);
  return bias;
}

std::vector<float> PackConvWeights(const Conv& conv, int lanes, int in_c) {
  const int taps = conv.window.kernel_y * conv.window.kernel_x;
  if (conv.weights.empty() && taps > 0) return {};  // only judged, never run
  // A phase of a transposed convolution may have no tap; a constant has at least one row.
  const size_t rows = static_cast<size_t>(std::max(1, taps)) * static_cast<size_t>(in_c);
  std::vector<float> packed(static_cast<size_t>(CeilDiv(conv.out.c, lanes)) * rows *
                            static_cast<size_t>(lanes), 0.0f);
  const float* from = conv.weights.data();
  for (int o = 0; o < conv.out.c; ++o) {
    for (int t = 0; t < taps; ++t) {
      float* to = &packed[((o / lanes) * rows + static_cast<size_t>(t * in_c)) *
                          static_cast<size_t>(lanes) + static_cast<size_t>(o % lanes)];
      for (int i = 0; i < conv.in.c; ++i) to[i * lanes] = *from++;
    }
  }
  return packed;
}

void AddConvNumbers(const Conv& conv, KernelDesc* kernel) {
  const Window& window = conv.window;
  kernel->Int("kernel_x", window.kernel_x);
  kernel->Int("kernel_y", window.kernel_y);
  kernel->Int("stride_x", window.stride_x);
  kernel->Int("stride_y", window.stride_y);
  kernel->Int("dilation_x", window.dilation_x);
  kernel->Int("dilation_y", window.dilation_y);
  kernel->Int("pad_x", window.pad_left);
  kernel->Int("pad_y", window.pad_top);
  if (conv.scattered()) {
    kernel->Int("step_x", conv.step_x);
    kernel->Int("step_y", conv.step_y);
    kernel->Int("first_x", conv.first_x);
    kernel->Int("first_y", conv.first_y);
  }
  kernel->Float("low", conv.low);
  kernel->Float("high", conv.high);
}

void AddConv(const KernelContext& context, const Conv& conv, KernelList* list) {
  for (WideTile tile : kWideTiles) {
    tile.halves = context.precision != Precision::kF32;
    if (tile.lanes <= context.gpu->vector_width) return AddWideConv(tile, conv, list);
  }
  AddQuadConv(context, conv, list);
}

}  // namespace quadra
