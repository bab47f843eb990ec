// Writes what was planned as an fb::Plan.
#ifndef QUADRA_PLAN_WRITE_PLAN_H_
#define QUADRA_PLAN_WRITE_PLAN_H_

#include <vector>

#include "delegate_native/plan/graph_kernels.h"
#include "delegate_native/plan/layout.h"
#include "delegate_native/plan/plan_bytes.h"
#include "delegate_native/plan/rendered_plan.h"

namespace quadra {

struct PlannedGraph {
  const Graph& graph;
  const KernelContext& context;
  const Layout& layout;
  const GraphKernels& kernels;
  const RenderedPlan& rendered;
  WeightStore* known;  // of PlanRequest
};

Status WritePlan(const PlannedGraph& planned, PlanBytes* plan);

}  // namespace quadra

#endif  // QUADRA_PLAN_WRITE_PLAN_H_
