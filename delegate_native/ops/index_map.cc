#include "delegate_native/ops/index_map.h"

#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/unroll.h"

namespace quadra {
namespace {

bool HasOuter(const Shape& shape) { return shape.outer[0] > 1 || shape.outer[1] > 1; }

// From the place of a result, in `batch` and `at_c`, to the source's slice.
std::string Address(const IndexMap& map, bool from_outer, bool to_outer) {
  std::string text =
      "int at_p = 0;\nint at_q = 0;\nint at_b = batch;\nint at_y = y;\nint at_x = x;\n";
  if (to_outer) {
    text +=
        "at_q = at_b / to_b;\nat_b -= at_q * to_b;\nat_p = at_q / to_q;\nat_q -= at_p * to_q;\n";
  }
  text += map.address;
  if (from_outer) text += "at_b += (at_p * from_q + at_q) * from_b;\n";
  return text;
}

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
  const std::string address = Address(map, from_outer, to_outer);
  const std::string inside = *map.fill ? "bool inside = true;\n" : "";
  const auto guarded = [&](const std::string& text) {
    return *map.fill ? Block("if (inside)", text) : text;
  };
  const std::string none = std::string("num4(") + (*map.fill ? map.fill : "0") + ")";
  std::string pixel =
      "int batch = s / dst_s;\nint first = (s - batch * dst_s) * 4;\nnum4 v = " + none + ";\n";
  if (map.keeps_channels) {
    pixel += "int at_c = first;\n" + inside + address +
             guarded("v = read_src(at_x, at_y, at_b * src_s + at_c / 4);\n");
  } else {
    pixel += Block("for (int i = 0; i < 4; ++i)",
                   "int at_c = min(first + i, dst_c - 1);\n" + inside + address +
                       guarded("v = num_with_lane(v, i, num_lane(read_src(at_x, at_y, at_b * "
                               "src_s + at_c / 4), at_c % 4));\n"));
  }
  pixel += "write_dst(v, x, y, s);\n";
  LoopOverResults(context, to_shape, "", pixel.c_str(), &desc);
  return desc;
}

}  // namespace quadra
