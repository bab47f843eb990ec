// Sums over many channels where results are few: each work-item of a group adds up a share of the
// channels, and the group adds the shares in its local memory.
#ifndef QUADRA_OPS_SPLIT_SUMS_H_
#define QUADRA_OPS_SPLIT_SUMS_H_

#include <string>

#include "delegate_native/ops/op.h"

namespace quadra {

// How many work-items share the `steps` of one, as a power of two: as many as make `items` enough
// for the GPU, if that may be. There are `w` items in a row. 0 where the device has no such groups.
int SplitBits(const GpuInfo& gpu, int64_t items, int w, int steps);

// Text that adds up the shares of the sums a$_@, of pixels $ and slices @, and runs `use` for each:
// it finds `sum4_t sum` and `int j`, which is slice * pixels + pixel. All work-items of a group
// have to come there.
std::string FinishSplit(int pixels, int slices, const std::string& use);

// Puts before the body `int z`, which is GLOBAL_Z without shares, `int splits`, how many shares
// there are, and `int split`, the work-item's own. Sets the group, and the grid along z.
void AddSplit(int bits, int sums, KernelDesc* kernel);

}  // namespace quadra

#endif  // QUADRA_OPS_SPLIT_SUMS_H_
