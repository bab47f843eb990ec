#include "delegate_native/ops/conv_gpu_text.h"

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/split_sums.h"
#include "delegate_native/ops/tile_text.h"

namespace quadra {
namespace {

// Finishes the sum of the grid's column `x` and slice o + `slice`.
std::string WriteSum(const QuadTile& t, const char* sum, const char* x, const char* slice,
                     bool scattered, const Part& part) {
  Text text(QUADRA_TEXT("${add}write_${half:,medium_}dst($bounded, $place);"));
  text.Set("half", t.stores_half);
  text.Set("add", part.before >= 0 ? "$sum += read_before($place); " : "");
  text.Set("bounded",
           Bounded(part.round, t.stores_half ? "to_medium($sum)" : "$sum", t.stores_half));
  text.Set("place", scattered ? QUADRA_TEXT("($x) * step_x + first_x, y * step_y + first_y, "
                                            "b * dst_s + o + $slice")
                              : "$x, y, b * dst_s + o + $slice");
  return text.Set("sum", sum).Set("x", x).Set("slice", slice).str();
}

// Where work-items share sums, after the shares are added up.
constexpr const char* kWriteShared =
    QUADRA_TEXT(R"(if (inside && x + j % $pixels < grid_w && o + j / $pixels < dst_s) {
$write
}
)");

constexpr const char* kWriteSlices = QUADRA_TEXT(R"($for(k, slices)
$if(k) if (o + $k < dst_s) {
$each$if(k) }
$end
)");

// Beyond the end of a row lies its last result again: the same number to the same place.
constexpr const char* kWriteAll = QUADRA_TEXT("$for(i, pixels)\n$write\n$end\n");

// `pixel`: the columns are x0, x1, …, and the last one of the grid again instead of those beyond.
std::string WriteSums(const QuadTile& t, bool scattered, const Part& part, bool pixel,
                      const SerialTexts* serial) {
  if (t.split_bits > 0) {
    Text text(kWriteShared);
    text.Set("write", WriteSum(t, "sum", "x + j % $pixels", "j / $pixels", scattered, part));
    return FinishSplit(t.pixels, t.slices, text);
  }
  Text text(serial ? serial->writes : kWriteSlices);
  text.Set("pixels", t.pixels).Set("slices", t.slices);
  if (serial) {
    text.Set("width", "grid_w").Set("results", kWriteSlices).Set("each", "$write\n");
    text.Set("moves", QUADRA_TEXT("$for(i, pixels) $if(i) $for(k, slices) a${i-1}_$k = a$i_$k;\n"));
    return text.Set("write", WriteSum(t, "a0_$k", "x + j", "$k", scattered, part));
  }
  text.Set("each", t.repeats ? kWriteAll : kWritePixels);
  text.Set("exists", pixel ? "x$i > x${i-1}" : "x + $i < grid_w");
  return text.Set("write", WriteSum(t, "a$i_$k", pixel ? "x$i" : "x + $i", "$k", scattered, part));
}

// Adds what the input slices at p + q$i and on, times the weights from `at` to `end`, give to the
// sums. The pixels have one position along y and slices together: a register, and an addition less
// in each trip, for each of them.
// A GPU keeps the sums in registers, and the weights of one result at a time: a compiler that has
// to bring them in an order of its own needs more registers or moves. `starts`: the sums begin
// here.
constexpr const char* kProducts = QUADRA_TEXT(R"(${read}p += slice;
$for(k, slices)
$for(c, channels) w$c = fetch_${half:,medium_}weights(i + ${c*slices+k});
$for(i, pixels) ${half:a,h}$i_$k ${starts:+=,=} v$i.x * w0;
$for(c, channels-1)
$for(i, pixels) ${half:a,h}$i_$k += v$i.${c:y,z,w} * w${c+1};
$end
$end
)");
// The same where two weights are read at once, which costs one address: those of two slices of
// results, or where there is one, of two channels.
constexpr const char* kPairs = QUADRA_TEXT(R"(${read}p += slice;
$for(c, channels)
$if(both) w = fetch_pair_weights(i, $c);
$if(!both) $if(!c%2) w = fetch_pair_weights(i, ${c/2});
$for(k, slices) $for(i, pixels) ${half:a,h}$i_$k ${starts-c:+=,=} v$i.${c:x,y,z,w} * $weight;
$end
)");
constexpr const char* kSharedLoop = QUADRA_TEXT(
    "int end = at + run;\n"
    "for (int i = at + split * $step; i < end; i += splits * $step) {\n$products}\n");

// Sums of a block in half, which begin with its first slice: there is no 0 to add to.
constexpr const char* kHalfBlocks = QUADRA_TEXT(R"(int end = at + run;
for (int j = at${split:, + split * $step}; j < end; j += ${split:,splits * }$block) {
$for(i, pixels) $for(k, slices) medium4_t h$i_$k;
{
int i = j;
$start}
$for(n, more)
if (j + ${split:,splits * }${n+1*step} < end) {
int i = j + ${split:,splits * }${n+1*step};
$products}
$end
$for(i, pixels) $for(k, slices) a$i_$k += to_float(h$i_$k);
}
)");

std::string AddSlices(const QuadTile& t, const char* read, const SerialTexts* serial) {
  Text products(serial ? serial->products : t.pairs ? kPairs : kProducts);
  products.Set("both", t.slices == 2).Set("weight", t.half ? "$part" : "float_of($part)");
  products.Set("part", t.slices == 2 ? "w.${k:lo,hi}" : QUADRA_TEXT("w.${c%2:lo,hi}"));
  products.Set("half", t.half).Set("read", read).Set("starts", false);
  products.Set("pixels", t.pixels).Set("slices", t.slices);
  products.Set("channels", t.channels > 0 ? t.channels : 4);
  const int step = 4 * t.slices;
  if (t.half) {
    Text blocks(kHalfBlocks);
    blocks.Set("start", products.Set("starts", true).str());
    blocks.Set("products", products.Set("starts", false).str());
    blocks.Set("split", t.split_bits > 0).Set("step", step);
    blocks.Set("block", step * kMostHalfProducts / 4).Set("more", kMostHalfProducts / 4 - 1);
    return blocks.Set("pixels", t.pixels).Set("slices", t.slices);
  }
  if (t.split_bits > 0) return Text(kSharedLoop).Set("step", step).Set("products", products);
  const char* const loop = !serial ? kLoop : t.channels > 0 ? serial->once : serial->loop;
  return (serial ? serial->end : "int end = at + run;\n") +
         Loop(loop, "i", "at", "i < end", step, products);
}

// Where the window is the pixel itself.
constexpr const char* kPixel = QUADRA_TEXT(R"(int x0 = x;
$for(i, pixels) $if(i) int x$i = min(x + $i, grid_w - 1);
$for(i, pixels) src_at q$i = along_src(x$i);
src_at p = at_src(0, y, first);
$add)");
constexpr const char* kReadPixels = QUADRA_TEXT(
    "$for(i, pixels) ${half:sum4_t v$i = fetch_src,medium4_t v$i = fetch_medium_src}(p + q$i);\n");

// A row of the window, and a tap of it. Pixels outside are read inside and dropped: a branch costs
// more.
constexpr const char* kRow = QUADRA_TEXT(R"(int sy = y * stride_y - pad_y + ky * dilation_y;
if (${inside}sy >= 0 && sy < src_h) {
src_at row = at_src(0, sy, first);
int at = block_at + $row * kernel_x * run;
$taps}
)");
constexpr const char* kTap = QUADRA_TEXT(R"($for(i, pixels)
int x$i = left + $i * stride_x + kx * dilation_x;
bool in$i = x$i >= 0 && x$i < src_w;
src_at q$i = along_src(clamp(x$i, 0, src_w - 1));
$end
src_at p = row;
${add}at = end;
)");
constexpr const char* kReadInside = QUADRA_TEXT(R"($for(i, pixels)
${half:sum4_t v$i = fetch_src,medium4_t v$i = fetch_medium_src}(p + q$i);
if (!in$i) { v$i = ${half:vec4(0.0f),to_medium(vec4(0.0f))}; }
$end
)");

// The rows of the window, of which row ky has the number `row` among all.
std::string Rows(const QuadTile& t, const char* loop, const char* inside, const char* row,
                 const SerialTexts* serial) {
  Text tap(kTap);
  tap.Set("pixels", t.pixels).Set("add", AddSlices(t, kReadInside, serial));
  Text body(kRow);
  body.Set("inside", inside).Set("row", row);
  body.Set("taps", Loop(loop, "kx", "0", "kx < kernel_x", 1, tap));
  return Loop(loop, "ky", "0", "ky < kernel_y", 1, body);
}

// The planes of the window, where there are several.
constexpr const char* kPlanes = QUADRA_TEXT(R"(for (int kz = 0; kz < kernel_z; ++kz) {

int sz = first_sz + kz * dilation_z;
bool plane = sz >= 0 && sz < src_d;
int first = (item * src_d + (plane ? sz : 0)) * src_s + first_s;
$rows}
)");

std::string Sums(const QuadTile& t, const Conv& conv, bool pixel, const SerialTexts* serial) {
  if (pixel) {
    return Text(kPixel).Set("pixels", t.pixels).Set("add", AddSlices(t, kReadPixels, serial));
  }
  // A phase of a transposed convolution may have no taps.
  const char* const loop = serial && conv.taps() > 0 ? serial->loop : kLoop;
  if (!conv.deep()) return Rows(t, loop, "", "ky", serial);
  return Text(kPlanes).Set("rows", Rows(t, loop, "plane && ", "(kz * kernel_y + ky)", serial));
}

// Where work-items share sums, all of a group reach its barrier. A division costs as much as
// several taps. In three dimensions `b` counts planes of results.
constexpr const char* kQuadBody = QUADRA_TEXT(R"(
$if(split)
int x = GLOBAL_X * $pixels; int y = GLOBAL_Y;
bool inside = x < grid_w && z < blocks * dst_b;
x = min(x, grid_w - 1); z = min(z, blocks * dst_b - 1);
$end
$if(!split)
int x = GLOBAL_X * $pixels; int y = GLOBAL_Y; int z = GLOBAL_Z;
$guard$end
$if(batch) int b = 0; int block = z;
$if(!batch) int b = z / blocks; int block = z - b * blocks;
int o = block * $slices${part:, + first_o};
${source}int run = ${sources:src_s,group_s,part_s} * ${4*slices};
$if(pixel) int at = ${matrices:block,z} * run${serial: + begin_weights,};
$if(!pixel) int block_at = ${matrices:block,z} * run${deep:, * kernel_z} * kernel_y * kernel_x${serial: + begin_weights,};
$if(deep)
int item = b / grid_d;
int first_sz = (b - item * grid_d) * stride_z - pad_z;
b = item * dst_d + (b - item * grid_d) * step_z + first_z;
$end
$if(!deep) int first = b * src_s + first_s;
$if(!pixel) int left = x * stride_x - pad_x;
$if(split)
first += split;
src_at slice = src_slice * splits;
$end
$if(!split) src_at slice = src_slice;
$if(pairs) eight_t w;
$if(!pairs) $if(!serial) $for(c, 4) ${half:sum4_t,medium4_t} w$c;
$for(i, pixels) $for(k, slices) sum4_t a$i_$k = ${biased:vec4(0.0f),read_bias(o + $k)};
$if(split) $for(i, pixels) $for(k, slices) if (split > 0) { a$i_$k = vec4(0.0f); }
$sums$writes)");

}  // namespace

std::string QuadBody(const QuadTile& t, const Conv& conv, const Part& part, bool pixel,
                     const SerialTexts* serial) {
  const bool split = t.split_bits > 0;
  Text text(kQuadBody);
  text.Set("pixels", t.pixels).Set("slices", t.slices).Set("split", split);
  text.Set("biased", !conv.bias.empty());
  text.Set("guard", serial ? serial->guard : kGuard);
  text.Set("beyond",
           QUADRA_TEXT("x >= grid_w || y >= grid_h || z >= blocks * ${deep:dst_b,planes}"));
  text.Set("serial", serial != nullptr).Set("pixel", pixel).Set("deep", conv.deep());
  text.Set("half", t.half).Set("pairs", t.pairs).Set("batch", conv.out.b == 1);
  text.Set("part", part.outs > 0).Set("matrices", conv.matrices > 1);
  text.Set("sources", static_cast<int>(part.slices));
  text.Set("source", part.slices == Slices::kOfGroups ? FindFirstSlice("o * 4")
                     : part.slices == Slices::kAll    ? "int first_s = 0;\n"
                                                      : "");
  text.Set("sums", Sums(t, conv, pixel, serial));
  return text.Set("writes", WriteSums(t, conv.scattered(), part, pixel, serial));
}

}  // namespace quadra
