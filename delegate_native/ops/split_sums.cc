#include "delegate_native/ops/split_sums.h"

#include <algorithm>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"

namespace quadra {
namespace {

// One wave or a few: all drivers take groups of so many.
constexpr int kItems = 64;
// Work-items beside each other along x read neighbours, and the same weights.
constexpr int kMostColumns = 8;
// With fewer steps for each, adding the shares takes longer than it saves.
constexpr int kLeastSteps = 4;
// The last additions are made one by one.
constexpr int kMostSplits = 32;
constexpr int kMostBytes = 8 * kItems * 16;  // of the largest tile's sums

int ColumnsOf(int w) {
  int columns = 1;
  while (columns < std::min(w, kMostColumns)) columns *= 2;
  return columns;
}

}  // namespace

int SplitBits(const GpuInfo& gpu, int64_t items, int w, int steps) {
  if (!gpu.shares_sums || !gpu.runs_items_together() || gpu.max_work_group_size < kItems ||
      gpu.max_work_group[0] < kMostColumns || gpu.max_work_group[2] < kItems ||
      gpu.local_memory_bytes < kMostBytes) {
    return 0;
  }
  const int most = std::min({kMostSplits, kItems / ColumnsOf(w), steps / kLeastSteps});
  int bits = 0;
  while ((2 << bits) <= most && (items << bits) < gpu.enough_work_items) ++bits;
  return bits;
}

constexpr const char* kFinish = QUADRA_TEXT(R"(int own = LOCAL_Z * columns + LOCAL_X;
$for(i, pixels) $for(k, slices) sums[own + ($i + $k * $pixels) * 64] = a$i_$k;
GROUP_BARRIER();
own -= split * columns;
for (int j = split; j < ${pixels*slices}; j += splits) {
int from = own + j * 64;
sum4_t sum = sums[from];
for (int n = 1; n < splits; ++n) { sum += sums[from + n * columns]; }
$use}
)");
std::string FinishSplit(int pixels, int slices, const std::string& use) {
  Text text(kFinish);
  text.Set("pixels", pixels).Set("slices", slices).Set("use", use);
  return text.str();
}

void AddSplit(int bits, int sums, KernelDesc* kernel) {
  static_assert(kItems == 64, "FinishSplit says so");
  const int columns = ColumnsOf(kernel->grid[0]);
  kernel->name += "_split";
  kernel->shares_sums = true;
  kernel->Int("split_bits", bits);
  kernel->Int("columns", columns);
  kernel->shared.push_back({"sums", "sum4_t", sums * kItems});
  kernel->body.insert(0, QUADRA_TEXT(R"(
int splits = 1 << split_bits, split = GLOBAL_Z & (splits - 1), z = GLOBAL_Z >> split_bits;
)"));
  kernel->grid[2] <<= bits;
  kernel->Group(columns, 1, kItems / columns);
}

}  // namespace quadra
