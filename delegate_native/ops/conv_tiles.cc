#include "delegate_native/ops/conv_tiles.h"

#include "delegate_native/ops/cpu_kernels.h"
#include "delegate_native/ops/split_sums.h"

namespace quadra {
namespace {

struct Row {
  QuadTile tile;
  int registers;         // vectors of four, as compilers of phones' GPUs need them
  int window_registers;  // the same where pixels beyond the edge are dropped
  int least_w;           // of the grid: else too much of the last tile of a row is beyond its end
};

// A larger tile reads less for each product. It needs more registers, and where there are too few,
// numbers go to memory and back in every trip. Sums are floats in every precision: it does not
// matter here.
//
// The first row wins that fits the GPU's registers and leaves it enough work-items. Where none
// does, work-items of a group share the input channels: the first row wins that leaves enough so.
constexpr Row kRows[] = {
    {{4, 2}, 20, 28, 3},   // 32 sums, 16 numbers of pixels, 4 weights: for many registers
    {{3, 2}, 16, 18, 24},  // what 64 numbers hold without taps; small planes are no multiple of 3
    {{2, 2}, 12, 16, 2},  // with taps as much as 64 hold; on all GPUs as soon as work-items are few
    {{4, 1}, 15, 18, 3},  // of one or three slices: of two at once, one would often be idle
    {{2, 1}, 10, 14, 2},  // few work-items, or few registers and windows of one or three slices
    {{1, 1}, 0, 0, 0},    // so few that none may be lost
};

QuadTile GpuTile(const GpuInfo& gpu, int w, int h, bool pixel, const Conv& conv, int in_slices) {
  const int slices = conv.out.slices();
  bool may_split = false;
  for (int i = 0;; ++i) {
    const Row& row = kRows[i];
    QuadTile tile = row.tile;
    const int columns = CeilDiv(w, tile.pixels);
    const int64_t items = int64_t{columns} * h * CeilDiv(slices, tile.slices) * conv.out.b;
    tile.split_bits = may_split ? SplitBits(gpu, items, columns, in_slices) : 0;
    const bool fits = (pixel ? row.registers : row.window_registers) <= gpu.vector_registers &&
                      w >= row.least_w && (tile.slices == 1 || (slices != 1 && slices != 3)) &&
                      items << tile.split_bits >= gpu.enough_work_items;
    const bool is_last = row.least_w == 0;
    if (is_last && !may_split && conv.groups == 1 && !conv.deep()) {
      may_split = true;
      i = -1;
      continue;
    }
    if (fits || is_last) return tile;
  }
}

}  // namespace

QuadTile TileFor(const GpuInfo& gpu, int w, int h, bool pixel, const Conv& conv, int in_slices) {
  const auto own = CpuKernelsFor(gpu).tile;
  QuadTile tile = own ? own(w, pixel, conv) : GpuTile(gpu, w, h, pixel, conv, in_slices);
  // Slices of several groups would read what only one of them needs.
  while (conv.groups > 1 && tile.slices > 1 && conv.group_out() % (4 * tile.slices) != 0)
    --tile.slices;
  return tile;
}

}  // namespace quadra
