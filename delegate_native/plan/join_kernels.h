// Small kernels of one kind, none of which needs what another makes, become one dispatch: the three
// products of one input, rotary positions of queries and keys, updates of two caches. A phone takes
// longer to start them than to run them, and one alone leaves most of its GPU idle.
#ifndef QUADRA_PLAN_JOIN_KERNELS_H_
#define QUADRA_PLAN_JOIN_KERNELS_H_

#include "delegate_native/plan/graph_kernels.h"

namespace quadra {

// The name of a joined kernel is that of its parts with "_joined" behind it.
void JoinKernels(const KernelContext& context, const Graph& graph, GraphKernels* made);

}  // namespace quadra

#endif  // QUADRA_PLAN_JOIN_KERNELS_H_
