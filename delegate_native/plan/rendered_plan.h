// The texts of a plan's kernels, the programs that they are compiled in, and what is dispatched.
#ifndef QUADRA_PLAN_RENDERED_PLAN_H_
#define QUADRA_PLAN_RENDERED_PLAN_H_

#include <string>
#include <vector>

#include "delegate_native/base/group.h"
#include "delegate_native/plan/layout.h"

namespace quadra {

struct DistinctKernel {
  std::string name;
  std::string entry;
  std::string source;
  std::vector<std::string> parameters;  // where it can be called through a common entry
  size_t program = 0;
};

struct PlannedDispatch {
  size_t kernel = 0;    // of the graph's
  size_t distinct = 0;  // of the distinct ones
  RenderedKernel rendered;

  // Whether it is a part of a grid.
  bool IsPart() const {
    return rendered.base_arg[0] >= 0 || rendered.base_arg[1] >= 0 || rendered.base_arg[2] >= 0;
  }
};

struct RenderedPlan {
  std::vector<int> programs;  // of each, a kernel of the graph: all have its variant
  std::vector<DistinctKernel> kernels;
  std::vector<PlannedDispatch> dispatches;
  // The first of each of the graph's kernels; a last entry tells how many there are.
  std::vector<int> dispatch_of_kernel;
};

// `groups`: of PlanRequest, which the kernels get where theirs are free.
void RenderPlan(const KernelContext& context, const Layout& layout,
                const std::vector<Group>& groups, std::vector<KernelDesc>* kernels,
                RenderedPlan* made);

}  // namespace quadra

#endif  // QUADRA_PLAN_RENDERED_PLAN_H_
