// Reductions along any axes, for ops that are one.
#ifndef QUADRA_OPS_REDUCE_H_
#define QUADRA_OPS_REDUCE_H_

#include "delegate_native/ops/op.h"

namespace quadra {

enum class Reduction : uint8_t { kSum, kMean, kProduct, kMax, kMin };

// Shapes of a node with the attributes `axes` and `keep_dims` (absent: dropped): the input's shape
// with 1 along the axes, and the result's.
Shape Reduced(const Shape& in, const Node& node);
Status InferReduced(Graph* graph, const Node& node);

// Fails where so many numbers are too many to be added up: of int64, the halves of words are
// (passes/split_int64.cc).
Status CheckSummands(Element element, int64_t count);

// Reduces tensor `from` into tensor `to` along the axes where `to_shape` has 1.
void AddReduction(const KernelContext& context, Reduction reduction, int from,
                  const Shape& from_shape, int to, const Shape& to_shape, Element element,
                  KernelList* list);

}  // namespace quadra

#endif  // QUADRA_OPS_REDUCE_H_
