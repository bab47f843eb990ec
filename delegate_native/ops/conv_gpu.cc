// Convolutions on GPUs, and those of three dimensions everywhere: a work-item keeps a tile of
// results in registers (conv_tiles.cc).
#include <algorithm>

#include "delegate_native/base/status.h"
#include "delegate_native/ops/conv_kernels.h"
#include "delegate_native/ops/conv_tiles.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/limits.h"
#include "delegate_native/ops/split_sums.h"
#include "delegate_native/ops/unroll.h"

namespace quadra {
namespace {

int64_t TripsOf(const Conv& conv, int slices) {
  const Window& window = conv.window;
  return int64_t{conv.depth.kernel_y} * window.kernel_y *
         (int64_t{window.kernel_x} * (slices + 1) + 1);
}

// Input slices that one kernel multiplies: all, those of a work-item's groups, or as many as a
// device's loops and buffers allow. Then each kernel adds its results to those of the one before.
enum class Slices { kAll, kOfGroups, kSome };
struct Part {
  Slices slices = Slices::kAll;
  int first = 0, count = 0;
  int before = -1;  // tensor with the sums so far
  int to = -1;
  bool round = false;  // the results, as the bounds say
  // Output slices that the kernel makes, of which the last tile may be beyond the end; none: all.
  int first_out = 0, outs = 0;
};

// Statements that finish the sum of the grid's column `x` and slice o + `slice`.
std::string WriteSum(const std::string& sum, const std::string& x, const std::string& slice,
                     bool scattered, const Part& part) {
  const std::string place = Filled(
      scattered ? QUADRA_TEXT("($0) * step_x + first_x, y * step_y + first_y, b * dst_s + o + $1")
                : "$0, y, b * dst_s + o + $1",
      {x.c_str(), slice.c_str()});
  return Filled(
      part.before >= 0 ? "$0 += read_before($2); write_dst($1, $2);\n" : "write_dst($1, $2);\n",
      {sum.c_str(), Bounded(part.round, sum).c_str(), place.c_str()});
}

// One loop over the pixels, which moves the sums to where the first one's are. A work-item beyond
// the grid writes none.
std::string WriteSumsInLoop(const QuadTile& t, bool scattered, const Part& part) {
  std::string pixel;
  for (int k = 0; k < t.slices; ++k) {
    const std::string write =
        WriteSum(Format("a0_%d", k), "x + j", Format("%d", k), scattered, part);
    pixel += k ? Block(TextOf("if (o + %d < dst_s)", k), write) : write;
  }
  pixel = Block("if (j < pixels)", pixel);
  for (int i = 1; i < t.pixels; ++i) {
    pixel += Unroll(t.slices, TextOf("a%d_$ = a%d_$;\n", i - 1, i));
  }
  return TextOf("int pixels = inside ? min(%d, grid_w - x) : 0;\n", t.pixels) +
         Loop(true, "j", "0", "j < pixels", 1, pixel);
}

// `pixel`: the columns are x0, x1, …, and the last one of the grid again instead of those beyond.
std::string WriteSums(const QuadTile& t, bool scattered, const Part& part, bool pixel) {
  if (t.is_serial()) return WriteSumsInLoop(t, scattered, part);
  if (t.split_bits > 0) {
    const std::string x = Format("x + j %% %d", t.pixels), k = Format("j / %d", t.pixels);
    const std::string exists = "if (inside && " + x + " < grid_w && o + " + k + " < dst_s)";
    return FinishSplit(t.pixels, t.slices, Block(exists, WriteSum("sum", x, k, scattered, part)));
  }
  std::string text;
  for (int k = 0; k < t.slices; ++k) {
    std::string slice;
    for (int i = 0; i < t.pixels; ++i) {
      const std::string x = Format(pixel ? "x%d" : "x + %d", i);
      const std::string exists =
          pixel ? Format("if (x%d > x%d)", i, i - 1) : "if (" + x + " < grid_w)";
      const std::string write =
          WriteSum(Format("a%d_%d", i, k), x, Format("%d", k), scattered, part);
      slice += i ? Block(exists, write) : write;
    }
    text += k ? Block(TextOf("if (o + %d < dst_s)", k), slice) : slice;
  }
  return text;
}

// Adds what the input slices at p + q$ and on, times the weights from `at` to `end`, give to the
// sums. The pixels have one position along y and slices together: a register, and an addition less
// in each trip, for each of them.
// A GPU keeps the sums in registers, and one vector of weights at a time. Where the tile has more
// sums than registers, each is brought in once for its four products; and as each loop around the
// sums costs a copy of all of them, a source of one slice does without.
std::string AddSlices(const QuadTile& t, const char* read) {
  std::string text = Unroll(t.pixels, read) + "p += slice;\n";
  const char* const lanes[] = {"x", "y", "z", "w"};
  const int channels = t.channels > 0 ? t.channels : 4;
  for (int k = 0; t.is_serial() && k < t.slices; ++k) {
    std::string weights, products;
    for (int i = 0; i < channels; ++i) {
      weights += TextOf("sum4_t w%d = read_weights(i + %d);\n", i, i * t.slices + k);
      products += TextOf("a$_%d += v$.%s * w%d;\n", k, lanes[i], i);
    }
    text += Block("", weights + Unroll(t.pixels, products.c_str()));
  }
  for (int i = 0; !t.is_serial() && i < 4 * t.slices; ++i) {
    text += TextOf("w = read_weights(i + %d);\n", i) +
            Unroll(t.pixels, TextOf("a$_%d += v$.%s * w;\n", i % t.slices, lanes[i / t.slices]));
  }
  const int step = 4 * t.slices;
  const std::string end =
      t.is_serial() ? "int end = inside ? at + run : at;\n" : "int end = at + run;\n";
  if (t.channels > 0) return end + Block("", "int i = at;\n" + text);
  if (t.split_bits == 0) return end + Loop(t.is_serial(), "i", "at", "i < end", step, text);
  return end + Block(TextOf("for (int i = at + split * %d; i < end; i += splits * %d)", step, step),
                     text);
}

// Where the window is the pixel itself.
std::string Pixel(const QuadTile& t) {
  std::string columns = "int x0 = x;\n";
  for (int i = 1; i < t.pixels; ++i)
    columns += TextOf("int x%d = min(x + %d, grid_w - 1);\n", i, i);
  return columns + Unroll(t.pixels, "src_at q$ = along_src(x$);\n") +
         "src_at p = at_src(0, y, first);\n" + AddSlices(t, "sum4_t v$ = fetch_src(p + q$);\n");
}

// The rows of the window, of which row ky has the number `row` among all. Pixels outside are read
// inside and dropped: a branch costs more. `once`: there is a tap, and loops may be tested behind
// their bodies.
std::string Rows(const QuadTile& t, bool once, const char* inside, const char* row) {
  const std::string tap =
      Unroll(t.pixels, QUADRA_TEXT(R"(int x$ = left + $ * stride_x + kx * dilation_x;
bool in$ = x$ >= 0 && x$ < src_w;
src_at q$ = along_src(clamp(x$, 0, src_w - 1));
)")) + "src_at p = row;\n" +
      AddSlices(t, QUADRA_TEXT(R"(sum4_t v$ = fetch_src(p + q$);
if (!in$) { v$ = vec4(0.0f); }
)")) + "at = end;\n";
  const std::string taps =
      TextOf("src_at row = at_src(0, sy, first);\nint at = block_at + %s * kernel_x * run;\n",
             row) +
      Loop(once, "kx", "0", "kx < kernel_x", 1, tap);
  return Loop(once, "ky", "0", "ky < kernel_y", 1,
              QUADRA_TEXT("int sy = y * stride_y - pad_y + ky * dilation_y;\n") +
                  Block(TextOf("if (%ssy >= 0 && sy < src_h)", inside), taps));
}

// The planes of the window, where there are several.
std::string Planes(const QuadTile& t, bool once) {
  return Block("for (int kz = 0; kz < kernel_z; ++kz)", QUADRA_TEXT(R"(
int sz = first_sz + kz * dilation_z;
bool plane = sz >= 0 && sz < src_d;
int first = (item * src_d + (plane ? sz : 0)) * src_s + first_s;
)") + Rows(t, once, "plane && ", "(kz * kernel_y + ky)"));
}

// Of the tile of $0 pixels; $1 counts the results' batches or planes; $2, $3: ops/unroll.h.
constexpr const char* kFindPlace = QUADRA_TEXT(R"(
int x = GLOBAL_X * $0; int y = GLOBAL_Y; int z = GLOBAL_Z;
$2(x >= grid_w || y >= grid_h || z >= blocks * $1)$3
)");
// The same where work-items share sums: all of a group reach its barrier.
constexpr const char* kFindShare = QUADRA_TEXT(R"(
int x = GLOBAL_X * $0; int y = GLOBAL_Y;
bool inside = x < grid_w && z < blocks * dst_b;
x = min(x, grid_w - 1); z = min(z, blocks * dst_b - 1);
)");

std::string QuadBody(const QuadTile& t, const Conv& conv, const Part& part, bool pixel) {
  const bool split = t.split_bits > 0;
  const std::string pixels = Format("%d", t.pixels);
  std::string text =
      Filled(split ? kFindShare : kFindPlace,
             {pixels.c_str(), conv.deep() ? "planes" : "dst_b",
              t.is_serial() ? kKeepOutside : kLeaveOutside, t.is_serial() ? ";" : " { return; }"});
  // A division costs as much as several taps.
  text += conv.out.b == 1 ? "int b = 0; int block = z;\n"
                          : QUADRA_TEXT("int b = z / blocks; int block = z - b * blocks;\n");
  text += TextOf("int o = block * %d%s;\n", t.slices, part.outs > 0 ? " + first_o" : "");
  if (part.slices == Slices::kOfGroups) text += FindFirstSlice("o * 4");
  if (part.slices == Slices::kAll) text += "int first_s = 0;\n";
  const char* const counts[] = {"src_s", "group_s", "part_s"};
  text += TextOf("int run = %s * %d;\nint %s = %s * run", counts[static_cast<int>(part.slices)],
                 4 * t.slices, pixel ? "at" : "block_at", conv.matrices > 1 ? "z" : "block");
  if (!pixel) text += conv.deep() ? " * kernel_z * kernel_y * kernel_x" : " * kernel_y * kernel_x";
  // Of a convolution in three dimensions, `b` counts planes of results.
  text += conv.deep() ? QUADRA_TEXT(R"(;
int item = b / grid_d;
int first_sz = (b - item * grid_d) * stride_z - pad_z;
b = item * dst_d + (b - item * grid_d) * step_z + first_z;
)")
                      : ";\nint first = b * src_s + first_s;\n";
  if (!pixel) text += "int left = x * stride_x - pad_x;\n";
  text += split ? QUADRA_TEXT("first += split;\nsrc_at slice = src_slice * splits;\n")
                : "src_at slice = src_slice;\n";
  if (!t.is_serial()) text += "sum4_t w;\n";
  text += Unroll(t.pixels, t.slices, "sum4_t a$_@ = read_bias(o + @);\n");
  if (split) text += Unroll(t.pixels, t.slices, "if (split > 0) { a$_@ = vec4(0.0f); }\n");
  // A phase of a transposed convolution may have no taps.
  const bool once = t.is_serial() && conv.taps() > 0;
  text += pixel ? Pixel(t) : conv.deep() ? Planes(t, once) : Rows(t, once, "", "ky");
  return text + WriteSums(t, conv.scattered(), part, pixel);
}

void AddDepthNumbers(const Conv& conv, int planes, KernelDesc* kernel) {
  kernel->Int("kernel_z", conv.depth.kernel_y);
  kernel->Int("stride_z", conv.depth.stride_y);
  kernel->Int("dilation_z", conv.depth.dilation_y);
  kernel->Int("pad_z", conv.depth.pad_top);
  kernel->Int("step_z", conv.step_z);
  kernel->Int("first_z", conv.first_z);
  kernel->Int("src_d", conv.in.axis(0));
  kernel->Int("dst_d", conv.out.axis(0));
  kernel->Int("grid_d", conv.grid_d());
  kernel->Int("planes", planes);
}

// Weights that `parts` kernels take theirs from: made once for all, and let go with the last. They
// may be Winograd's, or made of integers.
Function<SharedFloats()> MadeOnce(const Function<SharedFloats()>& make, int parts) {
  struct Kept {
    SharedFloats floats;
    int left = 0;
  };
  return [make, parts, kept = std::make_shared<Kept>()] {
    if (kept->left == 0) {
      kept->floats = make();
      kept->left = parts;
    }
    return --kept->left == 0 ? std::move(kept->floats) : kept->floats;
  };
}

// The convolution by the inputs, or with the outputs, of a part alone, as far as its weights tell.
Conv OnlyPart(Conv conv, const Part& part) {
  const int all_c = conv.in.c, all_rows = conv.taps() * conv.out.c;
  const bool by_inputs = part.slices == Slices::kSome;
  const int first = by_inputs ? part.first * 4 : 0, first_o = part.first_out * 4;
  if (by_inputs) conv.in.c = std::min(conv.in.c - first, part.count * 4);
  if (part.outs > 0) conv.out.c = std::min(conv.out.c - first_o, part.outs * 4);
  const int some_c = conv.in.c, taps = conv.taps(), rows = taps * conv.out.c;
  if (part.before >= 0) conv.bias.clear();
  if (part.to != conv.dst) conv.bounds = Bounds();
  conv.weights = [first, first_row = taps * first_o, rows, all_rows, all_c, some_c,
                  matrices = conv.matrices, all = conv.weights] {
    const SharedFloats weights = all();
    std::vector<float> taken;
    for (int n = 0; n < matrices * rows; ++n) {
      const int row = first_row + n / rows * all_rows + n % rows;
      const float* from = weights->data() + std::ptrdiff_t{row} * all_c + first;
      taken.insert(taken.end(), from, from + some_c);
    }
    return Share(std::move(taken));
  };
  return conv;
}

void AddGpuPart(const KernelContext& context, const Conv& conv, Part part, KernelList* list) {
  const Window& window = conv.window;
  const bool buffers = context.StorageOf(conv.in) == Storage::kBuffer &&
                       context.StorageOf(conv.out) == Storage::kBuffer;
  const bool pixel = !conv.deep() && !conv.scattered() && conv.taps() == 1 &&
                     window.stride_y * window.stride_x == 1 && window.pad_top == 0 &&
                     window.pad_left == 0 && conv.in.w == conv.out.w && conv.in.h == conv.out.h;
  const bool as_row = buffers && pixel && conv.plane_as_row;
  const int w = as_row ? conv.grid_w() * conv.grid_h() : conv.grid_w();
  const int h = as_row ? 1 : conv.grid_h();
  const QuadTile tile = TileFor(*context.gpu, w, h, pixel, conv, part.count);
  const int blocks = CeilDiv(part.outs > 0 ? part.outs : conv.out.slices(), tile.slices);
  const int lanes = tile.slices * 4;
  if (conv.groups > 1) part.count = SlicesOfBlock(conv, lanes);
  const bool is_some = part.slices == Slices::kSome;
  const Conv own = is_some || part.outs > 0 ? OnlyPart(conv, part) : conv;
  part.round = own.bounds.round();
  KernelDesc& kernel = list->Add(conv.name);
  kernel.Read("src", conv.src);
  if (part.before >= 0) kernel.Read("before", part.before);
  kernel.Write("dst", part.to);
  const int in_c = part.count * 4;
  kernel.Constant("weights", 4, PackedFloats(own, lanes, in_c),
                  [own, lanes, in_c] { return PackConvWeights(own, lanes, in_c); });
  kernel.Constant("bias", BiasOf(own, CeilDiv(conv.out.slices(), tile.slices) * lanes));
  if (pixel) own.bounds.AddNumbers(&kernel);
  else AddConvNumbers(own, &kernel);
  if (conv.groups > 1) AddGroupNumbers(conv, lanes, &kernel);
  if (is_some) {
    kernel.Int("first_s", part.first);
    kernel.Int("part_s", part.count);
  }
  if (part.outs > 0) kernel.Int("first_o", part.first_out);
  kernel.Int("grid_w", w);
  kernel.Int("grid_h", h);
  kernel.Int("blocks", blocks);
  const int planes = conv.out.b / conv.out.axis(0) * conv.grid_d();
  if (conv.deep()) AddDepthNumbers(conv, planes, &kernel);
  kernel.body = QuadBody(tile, conv, part, pixel);
  kernel.trips = TripsOf(conv, CeilDiv(part.count, 1 << tile.split_bits));
  kernel.Grid(CeilDiv(w, tile.pixels), h, blocks * (conv.deep() ? planes : conv.out.b));
  if (tile.split_bits > 0) AddSplit(tile.split_bits, tile.pixels * tile.slices, &kernel);
  else if (!context.gpu->is_cpu()) SetGpuGroup(*context.gpu, &kernel);
}

// How many input slices one kernel may take.
int SlicesAtOnce(const KernelContext& context, const Conv& conv) {
  const int slices = conv.in.slices();
  const int lanes = 4 * 4;  // output channels are filled up to a tile's
  const int64_t floats = PackedFloats(conv, lanes, 4) + AlignUp(conv.out.c, lanes);
  const int64_t by_bytes =
      context.gpu->max_buffer_bytes / (floats * (context.precision == Precision::kF32 ? 4 : 2));
  const int64_t taps = std::max(1, conv.taps());
  const int64_t by_trips = kMostTrips / taps - 2;
  return static_cast<int>(std::min<int64_t>(slices, std::min(by_bytes, by_trips)));
}

// How many output slices one kernel makes, where weights are read as an image of one row, which has
// an end: 0 means all. A product of few pixels reads each weight so seldom that it does not matter.
int OutputsAtOnce(const KernelContext& context, const Conv& conv) {
  constexpr int kLeastPixels = 16, kMostParts = 8;
  const Dialect dialect = context.DialectOf();
  const int slices = conv.out.slices();
  const int64_t texels =
      int64_t{4} * std::max(1, conv.taps()) * conv.matrices * conv.in.slices();  // of a slice
  const int64_t row = dialect.max_row_texels - slices - 1;  // behind them lie the biases
  if (dialect.image_units == 0 || conv.groups > 1 || texels * slices <= row ||
      conv.grid_w() * conv.grid_h() < kLeastPixels) {
    return 0;
  }
  const int most =
      static_cast<int>(std::max<int64_t>(0, row) / texels) / 2 * 2;  // tiles have one or two
  return most * kMostParts < slices ? 0 : most;
}

}  // namespace

void AddGpuConv(const KernelContext& context, const Conv& whole, KernelList* list) {
  constexpr int kMostParts = 64;
  Conv conv = whole;
  const int slices = conv.in.slices(), most = SlicesAtOnce(context, conv);
  const int parts = most > 0 ? CeilDiv(slices, most) : 1;
  Part part;
  part.count = slices;
  part.to = conv.dst;
  if (conv.groups > 1) part.slices = Slices::kOfGroups;
  if (conv.groups > 1 || parts == 1 || parts > kMostParts) {
    const int all = conv.out.slices(), at_once = OutputsAtOnce(context, conv);
    if (at_once == 0) return AddGpuPart(context, conv, part, list);
    conv.weights = MadeOnce(conv.weights, CeilDiv(all, at_once));
    for (; part.first_out < all; part.first_out += at_once) {
      part.outs = std::min(at_once, all - part.first_out);
      AddGpuPart(context, conv, part, list);
    }
    return;
  }
  part.slices = Slices::kSome;
  const int each = CeilDiv(slices, parts);
  conv.weights = MadeOnce(conv.weights, CeilDiv(slices, each));
  for (part.first = 0; part.first < slices; part.first += each) {
    const bool last = part.first + each >= slices;
    part.count = std::min(each, slices - part.first);
    part.to = last ? conv.dst : list->AddScratch(conv.out);
    AddGpuPart(context, conv, part, list);
    part.before = part.to;
  }
}

}  // namespace quadra
