// Graph and target in, Plan out: kernels, storage, memory, text.
#ifndef QUADRA_PLAN_MAKE_PLAN_H_
#define QUADRA_PLAN_MAKE_PLAN_H_

#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/device/gpu_info.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/kernel/dialect.h"

namespace quadra {

// The bytes of a finished fb::Plan (plan/plan.fbs).
using PlanBytes = std::vector<uint8_t>;

Status MakePlan(const Graph& graph, const GpuInfo& gpu, Precision precision, PlanBytes* plan);

}  // namespace quadra

#endif  // QUADRA_PLAN_MAKE_PLAN_H_
