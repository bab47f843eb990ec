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
#include "delegate_native/ops/conv_kernels.h"
#include "delegate_native/ops/unroll.h"

namespace quadra {
namespace {

// Work-items that a convolution should have at least, for the sake of several threads.
constexpr int kEnoughItems = 32;

// Vectors of coordinates, one per pixel of the tile: plane position i, place gx, gy in the grid,
// and the first tap's place x, y in the source.
std::string FindPixels(const WideTile& t) {
  std::string lanes;
  for (int i = 0; i < 8; ++i) lanes += Format(i ? ", %d" : "%d", i < t.pixels ? i : t.pixels - 1);
  return TextOf(R"(
int n = grid_w * grid_h;
int first = GLOBAL_Y * %d;
first = first > n - %d ? (n > %d ? n - %d : 0) : first;
ivec8 i = ivec8(%s);
i = i > n - 1 - first ? n - 1 - first : i;
)",
                t.pixels, t.pixels, t.pixels, t.pixels, lanes.c_str()) +
         QUADRA_TEXT(R"(
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
}

// The same of a pointwise convolution: its tile is the run of pixels from `first` on.
std::string FindRun(const WideTile& t) {
  return TextOf(R"(
int n = grid_w * grid_h;
int first = min(GLOBAL_Y * %d, n - %d);
int plane = n * 4;
int b = GLOBAL_Z;
)",
                t.pixels, t.pixels);
}

// One weight vector times the same input channel of all pixels; `at` reads that of pixel $.
std::string MultiplyAdd(const WideTile& t, const std::string& at) {
  return Unroll(t.vectors, TextOf("vec%d w$ = read_weights(w + $);\n", t.lanes)) +
         Unroll(t.pixels, "float v$ = lane_at(" + at + ");\n") +
         Unroll(t.pixels, t.vectors, "a$_@ += v$ * w@;\n") + Format("w += %d;\n", t.vectors);
}

// The same for the four channels of a slice.
std::string MultiplyAddSlice(const WideTile& t, const std::string& at) {
  std::string text = Unroll(t.pixels, "vec4 v$ = quad_at(" + at + ");\n");
  for (int k = 0; k < 4; ++k) {
    const int at_k = k * t.vectors;
    text += Block(
        "", Unroll(t.vectors, TextOf("vec%d w$ = read_weights(w + %d + $);\n", t.lanes, at_k)) +
                Unroll(t.pixels, t.vectors, TextOf("a$_@ += v$.s%d * w@;\n", k)));
  }
  return text + Format("w += %d;\n", 4 * t.vectors);
}

std::string ForEachTap(const std::string& body) {
  return Block("for (int ky = 0; ky < kernel_y; ++ky)",
               Block("for (int kx = 0; kx < kernel_x; ++kx)", body));
}

// The sums over all channels; `p` and `$` tell where pixel $ has the channel at `at`, which moves.
std::string SumChannels(const WideTile& t, const char* p, const char* at) {
  if (t.halves) {
    return Block("for (int c = 0; c < channels; c += 4)",
                 MultiplyAddSlice(t, p) + at + " += plane;\n");
  }
  return Block("for (int c = 0; c < channels; ++c)",
               MultiplyAdd(t, p) + at + " += (c & 3) == 3 ? plane - 3 : 1;\n");
}

// The sums of a tile whose taps all lie inside the image.
std::string SumInside(const WideTile& t) {
  return "ivec8 start = (y * src_w + x) * 4;\n" +
         Unroll(t.pixels, "LANES p$ = from + start.s$;\n") +
         ForEachTap(QUADRA_TEXT("int at = (ky * dilation_y * src_w + kx * dilation_x) * 4;\n") +
                    SumChannels(t, "p$ + at", "at"));
}

// The same at the edges.
std::string SumEdge(const WideTile& t) {
  const std::string slice =
      t.halves ? MultiplyAddSlice(t, "p$")
               : QUADRA_TEXT("int count = channels - c < 4 ? channels - c : 4;\n") +
                     Block("for (int k = 0; k < count; ++k)", MultiplyAdd(t, "p$ + k"));
  return ForEachTap(
      QUADRA_TEXT(R"(
ivec8 tx = x + kx * dilation_x;
ivec8 ty = y + ky * dilation_y;
ivec8 valid = (tx >= 0) & (tx < src_w) & (ty >= 0) & (ty < src_h);
ivec8 start = ((ty * src_w + tx) * 4) & valid;
ivec8 next = plane & valid;
)") + Unroll(t.pixels, "LANES p$ = (valid.s$ != 0 ? from : weights_lanes) + start.s$;\n") +
      Block("for (int c = 0; c < channels; c += 4)", slice + Unroll(t.pixels, "p$ += next.s$;\n")));
}

// The quad of output channels `part` of a pixel, or of pixel $.
std::string Quad(const WideTile& t, int part, const char* pixel = "$") {
  static const char* const kOf16[] = {".s0123", ".s4567", ".s89ab", ".scdef"};
  static const char* const kOf8[] = {".lo", ".hi"};
  const int quads = t.lanes / 4;
  return Format("a%s_%d%s", pixel, part / quads,
                t.lanes == 16 ? kOf16[part % quads] : kOf8[part % quads]);
}

std::string Bound(const WideTile& t, const Conv& conv) {
  return Unroll(t.pixels, t.vectors, BoundWide(conv.bounds.round(), t.lanes, "a$_@"));
}

std::string Store(const WideTile& t, const Conv& conv, bool as_row) {
  const char* place = t.pointwise ? ", first + $, 0"
                      : as_row    ? ", first + i.s$, 0"
                                  : ", gx.s$, gy.s$";
  std::string text;
  // Backwards: a slice is there only if the one before it is.
  for (int k = t.vectors * t.lanes / 4; k-- > 0;) {
    text.insert(0, Unroll(t.pixels, "write_dst(" + Quad(t, k) + place + Format(", s + %d);\n", k)));
    if (k) text = Block(TextOf("if (s + %d < last)", k), text);
  }
  return Bound(t, conv) + text;
}

// Merged steps are much text: written once, in a loop over the results laid down in memory.
std::string StoreInLoop(const WideTile& t, const Conv& conv, bool as_row) {
  const int slices = t.vectors * t.lanes / 4;
  const char* place = "int to_x = first + j; int to_y = 0;\n";
  if (!as_row)
    place = QUADRA_TEXT("int to_y = (first + j) / grid_w; int to_x = first + j - to_y * grid_w;\n");
  if (conv.scattered()) {
    place = QUADRA_TEXT(
        "int to_y = (first + j) / grid_w;\n"
        "int to_x = (first + j - to_y * grid_w) * step_x + first_x;\n"
        "to_y = to_y * step_y + first_y;\n");
  }
  const std::string write = TextOf("write_dst(results[j * %d + k], to_x, to_y, s + k);\n", slices);
  return Bound(t, conv) +
         TextOf("vec4 results[%d] __attribute__((aligned(64)));\n", t.pixels * slices) +
         Unroll(t.pixels, t.vectors,
                TextOf("((vec%d*)results)[$ * %d + @] = a$_@;\n", t.lanes, t.vectors)) +
         Block(TextOf("for (int k = 0; k < min(last - s, %d); ++k)", slices),
               Block(TextOf("for (int j = 0; j < min(n - first, %d); ++j)", t.pixels),
                     place + write));
}

// Slice `part` of the four pixels from `from` on: what lies together in the result.
std::string Quads(const WideTile& t, int from, int part) {
  std::string text;
  for (int i = 0; i < 4; ++i) {
    text += (i ? ", " : "vec16(") + Quad(t, part, Format("%d", from + i).c_str());
  }
  return text + ")";
}

// Of runs: four pixels of a slice at a time, in a loop where steps are merged.
std::string StoreRun(const WideTile& t, const Conv& conv) {
  const int slices = t.vectors * t.lanes / 4, quads = t.pixels / 4;
  std::string text;
  for (int k = slices; k-- > 0;) {
    std::string slice;
    for (int j = 0; j < quads; ++j) {
      const std::string value = Quads(t, j * 4, k);
      slice += conv.plain ? TextOf("write_quads_dst(%s, first + %d, 0, s + %d);\n", value.c_str(),
                                   j * 4, k)
                          : TextOf("results[%d] = %s;\n", k * quads + j, value.c_str());
    }
    text.insert(0, slice);
    if (k && conv.plain) text = Block(TextOf("if (s + %d < last)", k), text);
  }
  if (conv.plain) return Bound(t, conv) + text;
  const std::string write =
      TextOf("write_quads_dst(results[k * %d + j], first + j * 4, 0, s + k);\n", quads);
  return Bound(t, conv) + TextOf("vec16 results[%d];\n", quads * slices) + text +
         Block(TextOf("for (int k = 0; k < min(last - s, %d); ++k)", slices),
               Block(TextOf("for (int j = 0; j < %d; ++j)", quads), write));
}

// What a work-item does with one block of output channels.
std::string BlockOfChannels(const WideTile& t, const Conv& conv, bool as_row) {
  const std::string channel = Format("o * %d", t.lanes * t.vectors);
  const std::string find =
      conv.groups > 1 ? FindFirstSlice(channel.c_str()) + "LANES from = image + first_s * plane;\n"
                      : "";
  return find +
         Unroll(t.vectors, TextOf("vec%d bias$ = read_bias(o * %d + $);\n", t.lanes, t.vectors)) +
         Unroll(t.pixels, t.vectors, TextOf("vec%d a$_@ = bias@;\n", t.lanes)) + "++o;\n" +
         (t.pointwise ? "LANES p = from;\n" + SumChannels(t, "p + $ * 4", "p")
                      : Block("if (inside != 0)", SumInside(t)) + Block("else", SumEdge(t))) +
         (t.pointwise && t.pixels % 4 == 0 ? StoreRun(t, conv)
          : conv.plain                     ? Store(t, conv, as_row)
                                           : StoreInLoop(t, conv, as_row));
}

std::string Body(const WideTile& t, const Conv& conv, bool as_row) {
  const int slices = t.vectors * t.lanes / 4;
  std::string text = t.pointwise ? FindRun(t) : FindPixels(t);
  text += TextOf("LANES %s = src_lanes + b * src_s * plane%s;\n",
                 conv.groups > 1 ? "image" : "from", t.pointwise ? " + first * 4" : "");
  if (conv.scattered() && conv.plain)
    text += QUADRA_TEXT("gx = gx * step_x + first_x; gy = gy * step_y + first_y;\n");
  text += TextOf(R"(
int o = GLOBAL_X * blocks;
int s = b * dst_s + o * %d;
int last = (b + 1) * dst_s;
int end = s + blocks * %d < last ? s + blocks * %d : last;
int w = (1 + %s *%s channels) * %d;
)",
                 slices, slices, slices, conv.matrices > 1 ? "(b * all_blocks + o)" : "o",
                 t.pointwise ? "" : " kernel_y * kernel_x *", t.vectors);
  return text + Block(TextOf("for (; s < end; s += %d)", slices), BlockOfChannels(t, conv, as_row));
}

}  // namespace

void AddCpuConv(const WideTile& tile, const Conv& conv, KernelList* list) {
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
