// The kernels of a graph's nodes, in the order of their dispatch.
#ifndef QUADRA_PLAN_GRAPH_KERNELS_H_
#define QUADRA_PLAN_GRAPH_KERNELS_H_

#include <vector>

#include "delegate_native/ops/op.h"

namespace quadra {

struct GraphKernels {
  std::vector<KernelDesc> kernels;
  std::vector<std::vector<int>> nodes;  // whose the kernels are: of several where they were joined
  std::vector<Value> scratch;  // between the kernels of a node; ids follow those of the graph's
};

Status MakeGraphKernels(const KernelContext& context, const Graph& graph, GraphKernels* made);

}  // namespace quadra

#endif  // QUADRA_PLAN_GRAPH_KERNELS_H_
