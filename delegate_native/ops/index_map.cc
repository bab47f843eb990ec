#include "delegate_native/ops/index_map.h"

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/grid.h"

namespace quadra {
namespace {

bool HasOuter(const Shape& shape) { return shape.outer[0] > 1 || shape.outer[1] > 1; }

// A slice at a time, or each channel on its own where they move. From the place of a result, in
// `batch` and `at_c`, the map's address leads to the source's; some are outside of it.
constexpr const char* kPixel = QUADRA_TEXT(R"(int batch = s / dst_s;
int first = (s - batch * dst_s) * 4;
num4 v = num4($fill);
$if(slices) int at_c = first;
$if(!slices)
for (int i = 0; i < 4; ++i) {
int at_c = min(first + i, dst_c - 1);
$end
$if(fills) bool inside = true;
int at_p = 0;
int at_q = 0;
int at_b = batch;
int at_y = y;
int at_x = x;
$if(to)
at_q = at_b / to_b;
at_b -= at_q * to_b;
at_p = at_q / to_q;
at_q -= at_p * to_q;
$end
$address$if(from) at_b += (at_p * from_q + at_q) * from_b;
$if(fills) if (inside) {
$if(slices) v = read_src(at_x, at_y, at_b * src_s + at_c / 4);
$if(!slices) v = num_with_lane(v, i, num_lane(read_src(at_x, at_y, at_b * src_s + at_c / 4), at_c % 4));
$if(fills) }
$if(!slices) }
write_dst(v, x, y, s);
)");

}  // namespace

const char* PlaceName(int axis) {
  static const char* const kNames[] = {"at_p", "at_q", "at_b", "at_y", "at_x", "at_c"};
  return kNames[axis - kFirstAxis];
}

std::string Along(int axis, int i, const char* text) {
  return Text(text).Set("at", PlaceName(axis)).Set("i", i);
}

KernelDesc& AddIndexMap(const KernelContext& context, const char* name, const IndexMap& map,
                        int from, const Shape& from_shape, int to, const Shape& to_shape,
                        KernelList* list) {
  const bool from_outer = HasOuter(from_shape), to_outer = HasOuter(to_shape);
  KernelDesc& desc = list->Add(name);
  desc.Read("src", from);
  desc.Write("dst", to);
  if (to_outer) {
    desc.Int("to_b", to_shape.axis(0));
    desc.Int("to_q", to_shape.axis(-1));
  }
  if (from_outer) {
    desc.Int("from_b", from_shape.axis(0));
    desc.Int("from_q", from_shape.axis(-1));
  }
  const bool fills = *map.fill;
  Text text(kPixel);
  text.Set("fill", fills ? map.fill : "0").Set("fills", fills).Set("slices", map.keeps_channels);
  text.Set("to", to_outer).Set("from", from_outer).Set("address", map.address);
  const std::string pixel = text;
  LoopOverResults(context, to_shape, "", pixel.c_str(), &desc);
  return desc;
}

}  // namespace quadra
