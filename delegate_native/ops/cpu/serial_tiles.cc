#include "delegate_native/ops/cpu/serial_tiles.h"

#include <algorithm>

#include "delegate_native/base/texts.h"

namespace quadra {
namespace {

constexpr int64_t kWorthCompiling = 10'000'000;  // multiply-adds of a pointwise convolution

}  // namespace

// Many work-items are no gain. A tile is larger than the registers.
QuadTile SerialTile(int w, bool pixel, const Conv& conv) {
  const int slices = conv.out.slices();
  // Four slices at once read the pixels half as often, unless too many would be beyond the last.
  // That text compiles for 80 ms longer, which small convolutions do not bring in again.
  const int64_t products = int64_t{conv.out.w} * conv.out.h * conv.out.c * conv.in.c;
  const bool four = pixel && w >= 5 && products >= kWorthCompiling &&
                    (slices % 4 == 0 || slices % 4 == 3 || slices > 16);
  QuadTile tile{w >= 5 ? 8 : 4, four ? std::min(4, slices) : std::min(2, slices)};
  if (w == 1) tile = {1, std::min(4, slices)};
  // Most models have one such convolution, their first: its text is worth compiling.
  if (conv.in.c <= 4 && conv.groups == 1 && !pixel) tile.channels = conv.in.c;
  return tile;
}

// Reads cost most: longer strips share weights, as far as the text is not too long for the
// compiler.
int SerialStrip(Strip strip, int w) {
  constexpr int kMostColumns = 16;
  for (strip.pixels = 8; strip.pixels > 1; strip.pixels /= 2) {
    if (w > strip.pixels / 2 && strip.Columns().size() <= kMostColumns) break;
  }
  return strip.pixels;
}

// A loop's test follows its body: a body that follows its test runs once more, for no lane.
// Nor does a text return where a work-item is beyond the grid: a return masks all that follows,
// which costs the compiler much time. Such work-items read where the first one does, as buffers do
// not answer beyond their end (Rusticl), and write where `inside` only.
//
// A tile has more sums than registers: each is brought in once for its four products. As each loop
// around the sums costs a copy of all of them, a source of one slice does without.
//
// The results are written in a loop, so that the text of the merged steps is there once.
const SerialTexts kSerialTexts = {
    .guard = QUADRA_TEXT("bool inside = !($beyond);\n"
                         "if (!inside) { x = 0; y = 0; z = 0; }\n"),
    .loop = QUADRA_TEXT(R"(int $variable = $from;
do {
$body$variable += $step;
} while ($more);
)"),
    .loop_if_any = QUADRA_TEXT(R"(int $variable = $from;
do {
if ($more) {
$body}
$variable += $step;
} while ($more);
)"),
    .once = QUADRA_TEXT(" {\nint $variable = $from;\n$body}\n"),
    .end = QUADRA_TEXT("int end = inside ? at + run : at;\n"),
    .last = QUADRA_TEXT("last = inside ? last : first;\n"),
    .products = QUADRA_TEXT(R"(${read}p += slice;
$for(k, slices)
 {
$for(c, channels) sum4_t w$c = read_weights(i + ${c*slices+k});
$for(i, pixels) $for(c, channels) a$i_$k += v$i.${c:x,y,z,w} * w$c;
}
$end
)"),
    .writes = QUADRA_TEXT(R"(int pixels = inside ? min($pixels, $width - x) : 0;
int j = 0;
do {
if (j < pixels) {
$results}
${moves}j += 1;
} while (j < pixels);
)"),
};

}  // namespace quadra
