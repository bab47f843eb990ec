#include "delegate_native/session/tune.h"

#include <algorithm>
#include <cstring>

#include "delegate_native/base/log.h"
#include "delegate_native/base/shape.h"
#include "delegate_native/plan/dispatch_group.h"
#include "delegate_native/session/io_memory.h"

namespace quadra {
namespace {

constexpr int kLeastItems = 16, kUsualItems = 64;

// The largest power of two up to n, which is at least 1.
int PowerOfTwoTo(int n) {
  int power = 1;
  while (power <= n / 2) power *= 2;
  return power;
}

// Microseconds; 0: the driver does not take the group; below: it fails. Of three, the one in the
// middle: a program's first launch may be slow, and some drivers now and then tell of hardly any
// time.
float Measure(Executable* executable, unsigned dispatch, const Group& group) {
  float times[3];
  for (float& one : times) {
    one = executable->Time(dispatch, group);
    if (one <= 0.0f) return one;
  }
  const float low = std::min(times[0], times[1]), high = std::max(times[0], times[1]);
  return std::max(low, std::min(high, times[2]));
}

Group GridOf(const fb::Dispatch& dispatch) {
  const auto& grid = *dispatch.grid();
  return {grid.Get(0), grid.Get(1), grid.Get(2)};
}

bool AreSame(const fb::Dispatch& a, const fb::Dispatch& b) {
  return b.has_free_group() && strcmp(a.entry()->c_str(), b.entry()->c_str()) == 0 &&
         GridOf(a) == GridOf(b);
}

}  // namespace

bool GroupToTry(int number, const Group& own, const Group& grid, const GpuInfo& gpu, bool all,
                Group* group) {
  *group = own;
  if (number == 0) return true;
  int most = 1;
  bool fits = true;
  for (unsigned i = 0; i < 3; ++i, number >>= 4) {
    // No more than the grid has, rounded up.
    const int covers = std::min(2 * std::min(grid[i], 1 << 20) - 1, gpu.max_work_group[i]);
    (*group)[i] = 1 << (number & 15);
    most = std::min(kUsualItems, most * PowerOfTwoTo(std::min(covers, kUsualItems)));
    fits &= (*group)[i] <= covers && CeilDiv(grid[i], (*group)[i]) <= gpu.max_groups[i];
  }
  const int64_t items = ItemsOf(*group);
  if (!fits || *group == own || items > gpu.max_work_group_size) return false;
  if (all) return items >= std::min(kLeastItems, most);
  return items == most && ((*group)[2] <= 4 || (*group)[2] == items);
}

Tuned Tune(const fb::Plan& plan, const GpuInfo& gpu, bool all, Executable* executable,
           std::vector<Group>* groups) {
  const unsigned count = plan.dispatches()->size();
  *groups = std::vector<Group>(count);
  Tuned tuned = Tuned::kSame;
  std::unique_ptr<IoMemory> memory;  // which kernels may work on
  for (unsigned i = 0; i < count; ++i) {
    const fb::Dispatch& dispatch = *plan.dispatches()->Get(i);
    if (!dispatch.has_free_group()) continue;
    if (!memory) {
      memory = std::make_unique<IoMemory>(plan);
      RunTimes times;  // also shows whether the driver's timers work
      if (!executable->Run(memory->inputs, memory->outputs, &times).ok()) {
        return Tuned::kFailed;
      }
    }
    unsigned first = 0;
    while (!AreSame(dispatch, *plan.dispatches()->Get(first))) ++first;
    Group& best = (*groups)[i];
    best = first < i ? (*groups)[first] : GroupOf(dispatch);
    if (first < i) continue;
    const Group own = best;
    float best_us = 0.0f;
    // The own one last: it is taken for its equals.
    for (int number = kGroupsToTry; number-- > 0;) {
      Group group;
      if (!GroupToTry(number, own, GridOf(dispatch), gpu, all, &group)) continue;
      if (number == 0 && best_us <= 0.0f) break;  // there is no other one
      const float us = Measure(executable, i, group);
      Log(2, "%s by %d x %d x %d: %.1f us", dispatch.name()->c_str(), group[0], group[1], group[2],
          static_cast<double>(us));
      if (us < 0.0f) return Tuned::kFailed;
      if (us <= 0.0f || (best_us > 0.0f && us > best_us)) continue;
      best_us = us;
      best = group;
    }
    if (best != own) tuned = Tuned::kBetter;
  }
  // No kernel points to `memory` when it goes.
  const bool left = !memory || executable->Bind({}).ok();
  return left ? tuned : Tuned::kFailed;
}

}  // namespace quadra
