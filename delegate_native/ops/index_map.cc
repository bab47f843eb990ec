#include "delegate_native/ops/index_map.h"

#include "delegate_native/base/texts.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/unroll.h"

namespace quadra {
namespace {

bool HasOuter(const Shape& shape) { return shape.outer[0] > 1 || shape.outer[1] > 1; }

constexpr const char* kBegin = QUADRA_TEXT(R"(int at_p = 0;
int at_q = 0;
int at_b = batch;
int at_y = y;
int at_x = x;
)");
constexpr const char* kFindOuter = QUADRA_TEXT(R"(at_q = at_b / to_b;
at_b -= at_q * to_b;
at_p = at_q / to_q;
at_q -= at_p * to_q;
)");

// From the place of a result, in `batch` and `at_c`, to the source's slice.
std::string Address(const IndexMap& map, bool from_outer, bool to_outer) {
  return Filled("$0$1$2$3", {kBegin, to_outer ? kFindOuter : "", map.address.c_str(),
                             from_outer ? "at_b += (at_p * from_q + at_q) * from_b;\n" : ""});
}

// $0 is the number outside, $1 finds the source's slice, and $2 reads it. All channels at once:
constexpr const char* kSlice = QUADRA_TEXT(R"(int batch = s / dst_s;
int first = (s - batch * dst_s) * 4;
num4 v = num4($0);
int at_c = first;
$1$2write_dst(v, x, y, s);
)");
constexpr const char* kReadSlice =
    QUADRA_TEXT("v = read_src(at_x, at_y, at_b * src_s + at_c / 4);\n");
// Each on its own:
constexpr const char* kLanes = QUADRA_TEXT(R"(int batch = s / dst_s;
int first = (s - batch * dst_s) * 4;
num4 v = num4($0);
for (int i = 0; i < 4; ++i) {
int at_c = min(first + i, dst_c - 1);
$1$2}
write_dst(v, x, y, s);
)");
constexpr const char* kReadLane = QUADRA_TEXT(
    "v = num_with_lane(v, i, num_lane(read_src(at_x, at_y, at_b * src_s + at_c / 4), at_c % 4));\n");

}  // namespace

const char* PlaceName(int axis) {
  static const char* const kNames[] = {"at_p", "at_q", "at_b", "at_y", "at_x", "at_c"};
  return kNames[axis - kFirstAxis];
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
  const std::string find =
      (fills ? "bool inside = true;\n" : "") + Address(map, from_outer, to_outer);
  const char* read = map.keeps_channels ? kReadSlice : kReadLane;
  const std::string pixel = Filled(
      map.keeps_channels ? kSlice : kLanes,
      {fills ? map.fill : "0", find.c_str(), fills ? Block("if (inside)", read).c_str() : read});
  LoopOverResults(context, to_shape, "", pixel.c_str(), &desc);
  return desc;
}

}  // namespace quadra
