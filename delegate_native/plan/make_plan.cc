#include "delegate_native/plan/make_plan.h"

#include <algorithm>

#include "delegate_native/plan/graph_kernels.h"
#include "delegate_native/plan/join_kernels.h"
#include "delegate_native/plan/layout.h"
#include "delegate_native/plan/rendered_plan.h"
#include "delegate_native/plan/write_plan.h"

namespace quadra {
Status MakePlan(const Graph& graph, const GpuInfo& gpu, const PlanRequest& request, PlanBytes* plan,
                std::vector<int>* dispatch_of_node) {
  GpuInfo asked = gpu;
  asked.shares_sums &= request.shares_sums;
  asked.max_work_group_size = std::min(gpu.max_work_group_size, request.most_items);
  asked.image_memory = std::min(gpu.image_memory, request.image_memory);
  if (!request.has_row_bytes) asked.image_row_bytes = 0;
  const KernelContext context = {&asked, request.precision};
  GraphKernels made;
  QUADRA_RETURN_IF_ERROR(MakeGraphKernels(context, graph, &made));
  if (request.joins_kernels && !dispatch_of_node) JoinKernels(context, graph, &made);
  Layout layout(context, graph, made.scratch);
  QUADRA_RETURN_IF_ERROR(layout.Place(made.kernels));
  RenderedPlan rendered;
  RenderPlan(context, layout, request.groups, &made.kernels, &rendered);
  if (dispatch_of_node) {
    size_t kernel = 0;
    for (int node = 0; node <= static_cast<int>(graph.nodes.size()); ++node) {
      while (kernel < made.nodes.size() && made.nodes[kernel][0] < node) ++kernel;
      dispatch_of_node->push_back(rendered.dispatch_of_kernel[kernel]);
    }
  }
  return WritePlan({graph, context, layout, made, rendered, request.known}, plan);
}

}  // namespace quadra
