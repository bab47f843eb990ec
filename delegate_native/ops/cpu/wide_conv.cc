// Convolutions on CPUs: a work-item is a micro-kernel. It keeps `pixels` x `vectors` vectors of
// output channels in registers, multiplies a broadcast input channel by a vector of weights, and
// walks over the blocks of output channels, so that finding its pixels is paid once.
//
// Pixels are numbered row by row through the plane; the last tile is moved back to end at the last
// pixel, and a plane smaller than a tile has its last pixel repeated (the same item stores the same
// value again). A tile whose taps all lie inside the image needs one offset for all pixels; at the
// edges every tap has its own pointers, and taps outside read the zeros in front of the weights.
#include <algorithm>

#include "delegate_native/base/status.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/cpu/wide_kernels.h"

namespace quadra {
namespace {

// Vectors of `lanes` output channels, `vectors` of them times `pixels` in registers.
struct WideTile {
  int lanes, vectors, pixels;
  bool halves = false;     // tensors hold halves, which are turned into floats four at a time
  bool pointwise = false;  // pixels are a run, of the source as of the result

  constexpr WideTile(int l, int v, int p) : lanes(l), vectors(v), pixels(p) {}
};

// By the vectors' width; the tile leaves registers for weights and broadcasts.
constexpr WideTile kWideTiles[] = {{16, 2, 8}, {8, 2, 6}};

// Work-items that a convolution should have at least, for the sake of several threads.
constexpr int kEnoughItems = 32;

// Vectors of coordinates, one per pixel of the tile, eight or six of them: plane position i, place
// gx, gy in the grid, and the first tap's place x, y in the source.
constexpr const char* kFindPixels = QUADRA_TEXT(R"(
int n = grid_w * grid_h;
int first = GLOBAL_Y * $pixels;
first = first > n - $pixels ? (n > $pixels ? n - $pixels : 0) : first;
ivec8 i = ivec8(0, 1, 2, 3, 4, 5, ${pixels/8:5,6}, ${pixels/8:5,7});
i = i > n - 1 - first ? n - 1 - first : i;

int row = first / grid_w;
ivec8 gx = i + (first - row * grid_w);
ivec8 gy = ivec8(row);
if (gx.s7 >= grid_w) { ivec8 rows = gx / grid_w; gx -= rows * grid_w; gy += rows; }
ivec8 x = gx * stride_x - pad_x;
ivec8 y = gy * stride_y - pad_y;
ivec8 in8 = (x >= 0) & (x + (kernel_x - 1) * dilation_x < src_w) &
            (y >= 0) & (y + (kernel_y - 1) * dilation_y < src_h);
ivec4 in4 = in8.lo & in8.hi;
ivec2 in2 = in4.lo & in4.hi;
int inside = in2.x & in2.y;
int plane = src_w * src_h * 4;
int b = GLOBAL_Z;
)");

// The same of a pointwise convolution: its tile is the run of pixels from `first` on.
constexpr const char* kFindRun = QUADRA_TEXT(R"(
int n = grid_w * grid_h;
int first = min(GLOBAL_Y * $pixels, n - $pixels);
int plane = n * 4;
int b = GLOBAL_Z;
)");

// One weight vector times the same input channel of all pixels, which lies at $at.
constexpr const char* kMultiplyAdd =
    QUADRA_TEXT(R"($for(v, vectors) vec$lanes w$v = read_weights(w + $v);
$for(i, pixels) float v$i = lane_at($at);
$for(i, pixels) $for(v, vectors) a$i_$v += v$i * w$v;
w += $vectors;
)");

// The same for the four channels of a slice.
constexpr const char* kMultiplyAddSlice = QUADRA_TEXT(R"($for(i, pixels) vec4 v$i = quad_at($at);
$for(k, 4)
 {
$for(v, vectors) vec$lanes w$v = read_weights(w + ${k*vectors} + $v);
$for(i, pixels) $for(v, vectors) a$i_$v += v$i.s$k * w$v;
}
$end
w += ${4*vectors};
)");

// The sums over all channels; $at moves.
constexpr const char* kSumChannels =
    QUADRA_TEXT(R"(for (int c = 0; c < channels; ${halves:++c,c += 4}) {
${products}$moves += ${halves:(c & 3) == 3 ? plane - 3 : 1,plane};
}
)");

// The sums of a tile whose taps all lie inside the image.
constexpr const char* kSumInside = QUADRA_TEXT(R"(ivec8 start = (y * src_w + x) * 4;
$for(i, pixels) LANES p$i = from + start.s$i;
for (int ky = 0; ky < kernel_y; ++ky) {
for (int kx = 0; kx < kernel_x; ++kx) {
int at = (ky * dilation_y * src_w + kx * dilation_x) * 4;
$sums}
}
)");

// The same at the edges.
constexpr const char* kSumEdge = QUADRA_TEXT(R"(for (int ky = 0; ky < kernel_y; ++ky) {
for (int kx = 0; kx < kernel_x; ++kx) {

ivec8 tx = x + kx * dilation_x;
ivec8 ty = y + ky * dilation_y;
ivec8 valid = (tx >= 0) & (tx < src_w) & (ty >= 0) & (ty < src_h);
ivec8 start = ((ty * src_w + tx) * 4) & valid;
ivec8 next = plane & valid;
$for(i, pixels) LANES p$i = (valid.s$i != 0 ? from : weights_lanes) + start.s$i;
for (int c = 0; c < channels; c += 4) {
$if(!halves) int count = channels - c < 4 ? channels - c : 4;
$if(!halves) for (int k = 0; k < count; ++k) {
${products}$if(!halves) }
$for(i, pixels) p$i += next.s$i;
}
}
}
)");

// Results are written a slice at a time; one is there only if the one before it is.
constexpr const char* kStore = QUADRA_TEXT(R"($for(k, slices)
$if(k) if (s + $k < last) {
$for(i, pixels) write_dst($result, $place, s + $k);
$end
$for(k, slices) $if(k) }
)");

// Merged steps are much text: written once, in a loop over the results laid down in memory.
constexpr const char* kStoreInLoop =
    QUADRA_TEXT(R"(vec4 results[${pixels*slices}] __attribute__((aligned(64)));
$for(i, pixels) $for(v, vectors) ((vec$lanes*)results)[$i * $vectors + $v] = a$i_$v;
for (int k = 0; k < min(last - s, $slices); ++k) {
for (int j = 0; j < min(n - first, $pixels); ++j) {
$if(scattered)
int to_y = (first + j) / grid_w;
int to_x = (first + j - to_y * grid_w) * step_x + first_x;
to_y = to_y * step_y + first_y;
$end
$if(!scattered)
$if(row) int to_x = first + j; int to_y = 0;
$if(!row) int to_y = (first + j) / grid_w; int to_x = first + j - to_y * grid_w;
$end
write_dst(results[j * $slices + k], to_x, to_y, s + k);
}
}
)");

// Stores runs: four pixels of a slice at a time, which are together in the result,
constexpr const char* kStoreRun = QUADRA_TEXT(R"($for(k, slices)
$if(k) if (s + $k < last) {
$for(j, pixels/4) write_quads_dst($quads, first + ${j*4}, 0, s + $k);
$end
$for(k, slices) $if(k) }
)");
// in a loop where steps are merged.
constexpr const char* kStoreRunInLoop = QUADRA_TEXT(R"(vec16 results[${pixels/4*slices}];
$for(k, slices) $for(j, pixels/4) results[${pixels/4*k+j}] = $quads;
for (int k = 0; k < min(last - s, $slices); ++k) {
for (int j = 0; j < ${pixels/4}; ++j) {
write_quads_dst(results[k * ${pixels/4} + j], first + j * 4, 0, s + k);
}
}
)");
constexpr const char* kQuads =
    QUADRA_TEXT("vec16(a${j*4}_$part, a${j*4+1}_$part, a${j*4+2}_$part, a${j*4+3}_$part)");

// A work-item goes through some blocks of output channels.
constexpr const char* kBody = QUADRA_TEXT(
    R"(${find}LANES ${groups:from,image} = src_lanes + b * src_s * plane${pointwise:, + first * 4};
$if(scattered) $if(plain) gx = gx * step_x + first_x; gy = gy * step_y + first_y;

int o = GLOBAL_X * blocks;
int s = b * dst_s + o * $slices;
int last = (b + 1) * dst_s;
int end = s + blocks * $slices < last ? s + blocks * $slices : last;
int w = (1 + ${matrices:o,(b * all_blocks + o)} *${pointwise: kernel_y * kernel_x *,} channels) * $vectors;
for (; s < end; s += $slices) {
$if(groups)
${group}LANES from = image + first_s * plane;
$end
$for(v, vectors) vec$lanes bias$v = read_bias(o * $vectors + $v);
$for(i, pixels) $for(v, vectors) vec$lanes a$i_$v = bias$v;
++o;
$if(pointwise)
LANES p = from;
$sums$end
$if(!pointwise)
if (inside != 0) {
$inside}
else {
$edge}
$end
$for(i, pixels) $for(v, vectors) $bound
$store}
)");

Text ForTile(const WideTile& t, const char* text) {
  Text made(text);
  made.Set("pixels", t.pixels).Set("vectors", t.vectors).Set("lanes", t.lanes);
  return made.Set("slices", t.vectors * t.lanes / 4).Set("halves", t.halves);
}

std::string SumChannels(const WideTile& t, const char* at, const char* moves) {
  Text text = ForTile(t, kSumChannels);
  text.Set("products", t.halves ? kMultiplyAddSlice : kMultiplyAdd);
  return text.Set("at", at).Set("moves", moves);
}

std::string SumInside(const WideTile& t) {
  return ForTile(t, kSumInside).Set("sums", SumChannels(t, "p$i + at", "at"));
}

std::string SumEdge(const WideTile& t) {
  Text text = ForTile(t, kSumEdge);
  text.Set("products", t.halves ? kMultiplyAddSlice : kMultiplyAdd);
  return text.Set("at", t.halves ? "p$i" : "p$i + k");
}

std::string Body(const WideTile& t, const Conv& conv, bool as_row) {
  Text text = ForTile(t, kBody);
  text.Set("find", t.pointwise ? kFindRun : kFindPixels).Set("pointwise", t.pointwise);
  text.Set("scattered", conv.scattered()).Set("plain", conv.plain).Set("row", as_row);
  text.Set("groups", conv.groups > 1).Set("matrices", conv.matrices > 1);
  text.Set("group", FindFirstSlice(Format("o * %d", t.lanes * t.vectors).c_str()));
  if (t.pointwise) text.Set("sums", SumChannels(t, "p + $i * 4", "p"));
  else text.Set("inside", SumInside(t)).Set("edge", SumEdge(t));
  text.Set("bound", BoundWide(conv.bounds.round(), t.lanes, "a$i_$v"));
  const bool in_quads = t.pointwise && t.pixels % 4 == 0;
  text.Set("store", in_quads     ? conv.plain ? kStoreRun : kStoreRunInLoop
                    : conv.plain ? kStore
                                 : kStoreInLoop);
  text.Set("result", "a$i_$part").Set("quads", kQuads);
  text.Set("part", t.lanes == 16 ? QUADRA_TEXT("${k/4}.${k%4:s0123,s4567,s89ab,scdef}")
                                 : "${k/2}.${k%2:lo,hi}");
  return text.Set("place", t.pointwise ? "first + $i, 0"
                           : as_row    ? "first + i.s$i, 0"
                                       : "gx.s$i, gy.s$i");
}

WideTile TileFor(const KernelContext& context, const Conv& conv) {
  WideTile tile = kWideTiles[context.gpu->vector_width >= 16 ? 0 : 1];
  const int vectors = CeilDiv(conv.out.c, tile.lanes);
  if (vectors == 1 || (vectors == 3 && tile.lanes == 16)) tile.vectors = 1;  // half would be idle
  tile.halves = StoresHalf(context.precision);
  if (conv.pointwise() && conv.groups == 1 && conv.plane_as_row) {
    WideTile run = tile;
    if (run.vectors == 1) run.pixels *= 2;
    run.pointwise = conv.out.w * conv.out.h >= run.pixels;
    if (run.pointwise) return run;
  }
  return tile;
}

}  // namespace

void AddWideConv(const KernelContext& context, const Conv& conv, KernelList* list) {
  const WideTile tile = TileFor(context, conv);
  const int lanes = tile.lanes * tile.vectors;
  const int all_blocks = CeilDiv(conv.out.c, lanes);
  const int tiles = CeilDiv(conv.grid_w() * conv.grid_h(), tile.pixels) * conv.in.b;
  const int blocks = std::max(1, std::min(all_blocks, all_blocks * tiles / kEnoughItems));
  const int channels = conv.groups > 1 ? SlicesOfBlock(conv, lanes) * 4
                       : tile.halves   ? conv.in.slices() * 4
                                       : conv.in.c;
  const bool as_row = conv.plane_as_row && !conv.scattered();
  KernelDesc& kernel = list->Add(conv.name);
  kernel.Read("src", conv.src);
  kernel.Write("dst", conv.dst);
  kernel.Constant("weights", tile.lanes, lanes + PackedFloats(conv, lanes, channels),
                  [conv, lanes, channels] {
                    std::vector<float> weights = PackConvWeights(conv, lanes, channels);
                    weights.insert(weights.begin(), static_cast<size_t>(lanes), 0.0f);
                    return weights;
                  });
  kernel.Constant("bias", BiasOf(conv, all_blocks * lanes), tile.lanes);
  if (tile.pointwise) conv.bounds.AddNumbers(&kernel);
  else AddConvNumbers(conv, &kernel);
  kernel.Int("channels", channels);
  kernel.Int("grid_w", conv.grid_w());
  kernel.Int("grid_h", conv.grid_h());
  kernel.Int("blocks", blocks);
  if (conv.groups > 1) AddGroupNumbers(conv, lanes, &kernel);
  if (conv.matrices > 1) kernel.Int("all_blocks", all_blocks);
  kernel.body = Body(tile, conv, as_row);
  kernel.Grid(CeilDiv(all_blocks, blocks), tiles / conv.in.b, conv.in.b);
}

}  // namespace quadra
