// Reductions along any axes, for ops that are one.
#ifndef QUADRA_OPS_REDUCE_H_
#define QUADRA_OPS_REDUCE_H_

#include "delegate_native/ops/op.h"

namespace quadra {

enum class Reduction : uint8_t { kSum, kMean, kProduct, kMax, kMin };

// Reduces tensor `from` into tensor `to` along the axes where `to_shape` has 1.
void AddReduction(const KernelContext& context, Reduction reduction, int from,
                  const Shape& from_shape, int to, const Shape& to_shape, Element element,
                  KernelList* list);

}  // namespace quadra

#endif  // QUADRA_OPS_REDUCE_H_
