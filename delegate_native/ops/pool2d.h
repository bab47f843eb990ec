// The window of a pool, for all pools.
#ifndef QUADRA_OPS_POOL2D_H_
#define QUADRA_OPS_POOL2D_H_

#include "delegate_native/ops/op.h"
#include "delegate_native/ops/window.h"

namespace quadra {

// The window of a node with the attributes `filter`, `stride` and `padding`.
Status ResolvePool(const Node& node, const Shape& in, Window* window);
// The numbers filter_y, stride_y, before_y; the same of x.
void AddPoolNumbers(const Window& window, KernelDesc* desc);
// A result for each place of the window.
Status InferPool(Graph* graph, const Node& node);

}  // namespace quadra

#endif  // QUADRA_OPS_POOL2D_H_
