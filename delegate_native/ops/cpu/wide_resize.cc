// RESIZE_BILINEAR: both slices in one vector.
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/cpu/wide_kernels.h"

namespace quadra {
namespace {

constexpr const char* kPairRow = QUADRA_TEXT(R"(
#define pair_at(x, y) vec8(read_src(x, y, s0), read_src(x, y, s1))
  vec8 left = vec8(0.0f);
  vec8 right = vec8(0.0f);
)");

constexpr const char* kPairPixel = QUADRA_TEXT(R"(
    if (x0 != seen) {
      left = right;
      if (x0 != seen + 1) {
        left = pair_at(x0, y0);
        left += (pair_at(x0, y1) - left) * part_y;
      }
      right = pair_at(x1, y0);
      right += (pair_at(x1, y1) - right) * part_y;
    }
    vec8 v = left + (right - left) * part_x;
    ${bound}write_dst(v.lo, x, y, s0);
    if (s1 > s0) { write_dst(v.hi, x, y, s1); }
)");

}  // namespace

void AddWideResize(const Node& node, KernelList* list, std::string* row, std::string* pixel) {
  Bounds bounds;
  list->steps_taken = TakeBounds(node, &bounds);
  const bool bounded = list->steps_taken > 0;
  if (bounded) bounds.AddNumbers(&list->kernels.back());
  *row += kPairRow;
  const std::string bound = BoundWide(bounds.round(), 8, "v") + "\n";
  *pixel += Text(kPairPixel).Set("bound", bounded ? bound : "").str();
}

}  // namespace quadra
