// Finds the groups of work-items with which a device runs a plan's dispatches fastest, by trying.
#ifndef QUADRA_SESSION_TUNE_H_
#define QUADRA_SESSION_TUNE_H_

#include <vector>

#include "delegate_native/base/group.h"
#include "delegate_native/device/gpu_info.h"
#include "delegate_native/runtime/backend.h"

namespace quadra {

// The groups to try for a grid of work-items have numbers from 0, not all of which stand for one
// (false). 0 is the kernel's `own`. Then come powers of two along each axis: the shapes that 64
// work-items have, or with `all` those from 16 work-items to as many as the device allows.
constexpr int kGroupsToTry = 1 << 12;
bool GroupToTry(int number, const Group& own, const Group& grid, const GpuInfo& gpu, bool all,
                Group* group);

enum class Tuned { kSame, kBetter, kFailed };

// Runs the plan once on zeros, then each free dispatch with each of its groups, on what its memory
// holds; dispatches of the same kernel and grid only once. `groups`: of the plan's dispatches, the
// fastest. kBetter: some are others than the plan's.
Tuned Tune(const fb::Plan& plan, const GpuInfo& gpu, bool all, Executable* executable,
           std::vector<Group>* groups);

}  // namespace quadra

#endif  // QUADRA_SESSION_TUNE_H_
