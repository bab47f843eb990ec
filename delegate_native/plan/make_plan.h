// Graph and target in, Plan out: kernels, storage, memory, text.
#ifndef QUADRA_PLAN_MAKE_PLAN_H_
#define QUADRA_PLAN_MAKE_PLAN_H_

#include <cstdint>
#include <vector>

#include "delegate_native/base/group.h"
#include "delegate_native/base/status.h"
#include "delegate_native/device/gpu_info.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/kernel/dialect.h"
#include "delegate_native/plan/plan_bytes.h"
#include "delegate_native/plan/weights.h"

namespace quadra {

// A request for a plan, in addition to its target's decisions. Where a driver refuses the plan, the
// next request is another one (session/revise.h); the target stays.
struct PlanRequest {
  Precision precision = Precision::kF32;
  // Whether work-items may share sums where the target allows it.
  bool shares_sums = true;
  // Groups of dispatches, instead of the kernels' own where these are free (fb::Dispatch.grid); the
  // others, and those that are all 0, stay.
  std::vector<Group> groups;
  int most_items = INT32_MAX;                      // of a group, where the target allows more
  ImageMemory image_memory = ImageMemory::kArena;  // at most
  // Large constants that it has are in the plan by their hash alone. Null: the plan is whole.
  WeightStore* known = nullptr;
  bool joins_kernels = true;  // join_kernels.h; never where the dispatches of nodes are asked for
  bool has_row_bytes = true;  // rows of images may be as short as GpuInfo::image_row_bytes allows
};

// The kernels are in the language of gpu.api. `graph` has borders (AddBorders in passes/passes.h).
// `dispatch_of_node`: null, or gets the first dispatch of each node and, behind the last, how many
// there are.
Status MakePlan(const Graph& graph, const GpuInfo& gpu, const PlanRequest& request, PlanBytes* plan,
                std::vector<int>* dispatch_of_node = nullptr);

}  // namespace quadra

#endif  // QUADRA_PLAN_MAKE_PLAN_H_
