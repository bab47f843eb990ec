// The kernel of RESHAPE, for ops whose result is a reshaped intermediate.
#ifndef QUADRA_OPS_RESHAPE_H_
#define QUADRA_OPS_RESHAPE_H_

#include "delegate_native/ops/op.h"

namespace quadra {

// Whether tensors of the two shapes are the same in memory.
bool SameLayout(const Shape& a, const Shape& b);
// Folds an op that changes the shape alone: its input's numbers.
ConstantData SameNumbers(const Graph& graph, const Node& node);
// The result is all of the first input (Op::part).
bool AllOfIt(const Graph& graph, const Node& node, SlicePlaces* places, Shape* taken);
// Copies tensor `from` into tensor `to`, elements in dense BHWC order.
void AddReshapeKernel(const KernelContext& context, int from, const Shape& from_shape, int to,
                      const Shape& to_shape, KernelList* list);

// Kernels of an op whose result is its input under another shape.
Status ReshapeKernels(const KernelContext& context, const Graph& graph, const Node& node,
                      KernelList* list);

// The value under another shape of as many elements: itself, or a scratch tensor that it is copied
// to.
int Viewed(const KernelContext& context, const Graph& graph, ValueId value, const Shape& shape,
           KernelList* list);

// For an op that makes its result in the shape `made`: where to write it, the output itself or a
// scratch tensor that FinishReshape copies over.
int BeginReshape(const Graph& graph, const Node& node, const Shape& made, KernelList* list);
void FinishReshape(const KernelContext& context, const Graph& graph, const Node& node, int from,
                   const Shape& made, KernelList* list);

}  // namespace quadra

#endif  // QUADRA_OPS_RESHAPE_H_
