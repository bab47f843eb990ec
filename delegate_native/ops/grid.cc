#include "delegate_native/ops/grid.h"

#include <algorithm>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"

namespace quadra {
namespace {

// A work-item's tile; $w, $h and $depth are the limits of x, y and s.
constexpr const char* kTile = QUADRA_TEXT(R"(
int s = GLOBAL_Z;
int x_begin = GLOBAL_X * tile_w;
int y_begin = GLOBAL_Y * tile_h;
if (x_begin >= $w || y_begin >= $h || s >= $depth) { return; }
int x_end = min(x_begin + tile_w, $w);
int y_end = min(y_begin + tile_h, $h);
$if(rows) for (int y = y_begin; y < y_end; ++y) {
$if(!rows)
 {
int y = y_begin;
$end
$row$if(pixels)
$if(rows) for (int x = x_begin; x < x_end; ++x) {
$if(!rows)
 {
int x = x_begin;
$end
$pixel}
$end
}
)");

// At most 2^30: there is no greater one among the ints.
int PowerOfTwoFrom(int n) {
  int power = 1;
  while (power < n && power < 1 << 30) power *= 2;
  return power;
}

}  // namespace

void SetGroup(const GpuInfo& gpu, KernelDesc* desc) {
  const int wanted = std::min(gpu.wanted_group_size(), gpu.max_work_group_size);
  int left = wanted;
  // Two rounds: first a tile of the plane, then whatever is free along any axis.
  const int first[3] = {8, 8, 1};
  int group[3] = {1, 1, 1};
  for (int round = 0; round < 2; ++round) {
    for (int axis = 0; axis < 3; ++axis) {
      const int most = std::min(gpu.max_work_group[axis], PowerOfTwoFrom(desc->grid[axis]));
      const int limit = round == 0 ? std::min(first[axis], most) : most;
      while (group[axis] * 2 <= limit && left >= 2) group[axis] *= 2, left /= 2;
    }
  }
  // Lanes of a wave idle where its group is beyond the grid. Another size is worth a text of its
  // own where it starts a tenth fewer groups of more than fill the GPU. Deep groups read more
  // weights than flat ones: of those that start about the fewest the flattest is taken.
  const auto groups = [&](int x, int y, int z) {
    return int64_t{CeilDiv(desc->grid[0], x)} * CeilDiv(desc->grid[1], y) *
           CeilDiv(desc->grid[2], z);
  };
  const int64_t plain = groups(group[0], group[1], group[2]);
  int64_t fewest = plain;
  const auto most = [&](int axis, int items) {
    return std::min({items, desc->grid[axis], gpu.max_work_group[axis]});
  };
  const int deepest = plain * wanted > gpu.enough_work_items ? most(2, wanted) : 0;
  // The first time they are counted; the second time the flattest comes last.
  for (int turn = 2 * deepest; turn > 0; --turn) {
    const bool counts = turn > deepest;
    const int z = counts ? turn - deepest : turn;
    for (int x = 1; x <= most(0, wanted / z); ++x) {
      const int y = most(1, wanted / z / x);
      if (counts) fewest = std::min(fewest, groups(x, y, z));
      else if (fewest * 10 <= plain * 9 && groups(x, y, z) * 16 <= fewest * 17)
        group[0] = x, group[1] = y, group[2] = z;
    }
  }
  desc->Group(group[0], group[1], group[2]);
}

void LoopOver(const KernelContext& context, int w, int h, int depth, const Loops& loops,
              KernelDesc* desc) {
  const int results = context.gpu->results_per_item();
  const bool rows = results > 1;
  const int tile_w = rows ? w : 1;
  const int tile_h = rows ? std::min(h, std::max(1, results / loops.work / w)) : 1;
  desc->Int("tile_w", tile_w);
  desc->Int("tile_h", tile_h);
  // A loop over one costs a GPU registers.
  Text text(kTile);
  text.Set("w", loops.limits[0]).Set("h", loops.limits[1]).Set("depth", loops.limits[2]);
  text.Set("rows", rows).Set("row", loops.row).Set("pixels", *loops.pixel != 0);
  desc->body = text.Set("pixel", loops.pixel);
  desc->Grid(CeilDiv(w, tile_w), CeilDiv(h, tile_h), depth);
  SetGroup(*context.gpu, desc);
}

void LoopOverResults(const KernelContext& context, const Shape& out, const char* row,
                     const char* pixel, KernelDesc* desc) {
  LoopOverSlices(context, out, 1, row, pixel, desc);
}

void LoopOverSlices(const KernelContext& context, const Shape& out, int count, const char* row,
                    const char* pixel, KernelDesc* desc) {
  const std::string depth =
      Text(QUADRA_TEXT("(dst_s * dst_b + ${count-1}) / $count")).Set("count", count);
  Loops loops;
  if (count > 1) loops.limits[2] = depth.c_str();
  loops.row = row;
  loops.pixel = pixel;
  LoopOver(context, out.w, out.h, CeilDiv(out.slices() * out.b, count), loops, desc);
}

void LoopOverPixels(const KernelContext& context, const Shape& shape, const char* pixel, int sweeps,
                    KernelDesc* desc) {
  desc->trips = int64_t{sweeps} * shape.slices();
  Loops loops;
  loops.limits[2] = "dst_b";
  loops.pixel = pixel;
  loops.work = 4 * shape.slices();
  LoopOver(context, shape.w, shape.h, shape.b, loops, desc);
}

}  // namespace quadra
