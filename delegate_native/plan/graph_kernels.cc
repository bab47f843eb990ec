#include "delegate_native/plan/graph_kernels.h"

#include <utility>

#include "delegate_native/plan/share_groups.h"

namespace quadra {
namespace {

Status AddKernels(const KernelContext& context, const Graph& graph, int index, GraphKernels* made) {
  const Node& node = graph.nodes[static_cast<size_t>(index)];
  KernelContext own = context.For(node.float32);
  own.float_sums = node.float_sums;
  KernelList list;
  list.first_scratch = static_cast<int>(graph.values.size() + made->scratch.size());
  QUADRA_RETURN_IF_ERROR(MakeKernels(own, graph, node, &list));
  for (const KernelList::Scratch& scratch : list.scratch) {
    Value value;
    value.name = "scratch";
    value.shape = scratch.shape;
    value.element = scratch.element;
    value.float32 = node.float32;
    made->scratch.push_back(std::move(value));
  }
  for (KernelDesc& kernel : list.kernels) {
    kernel.variant = {node.float32, node.plain};
    kernel.outlined = own.gpu->outlines_bodies() && kernel.shared.empty() && !node.plain;
    for (ConstantArg& constant : kernel.constants) {
      constant.half = constant.CellOf(StoresHalf(own.precision)) == Cell::kHalf;
    }
    made->kernels.push_back(std::move(kernel));
    made->nodes.push_back({index});
  }
  return Status();
}

}  // namespace

Status MakeGraphKernels(const KernelContext& context, const Graph& graph, GraphKernels* made) {
  // Each work-item of the plainest kernels makes one result and shares nothing with others.
  GpuInfo plain_gpu = *context.gpu;
  plain_gpu.vector_width = 4;
  plain_gpu.winograd_channels = GpuInfo::kNever;
  plain_gpu.flat_group = 0;
  plain_gpu.local_memory_bytes = 0;
  plain_gpu.enough_work_items = INT32_MAX;
  const KernelContext plain = {&plain_gpu, context.precision};
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    // Where limits of the device exclude the plainest, the usual ones do.
    const bool is_plain = graph.nodes[static_cast<size_t>(i)].plain;
    if (is_plain && AddKernels(plain, graph, i, made).ok()) continue;
    QUADRA_RETURN_IF_ERROR(AddKernels(context, graph, i, made));
  }
  ShareGroups(*context.gpu, &made->kernels);
  return Status();
}

}  // namespace quadra
