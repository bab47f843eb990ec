// The kernel of slices, for ops that take parts of a tensor.
#ifndef QUADRA_OPS_SLICE_H_
#define QUADRA_OPS_SLICE_H_

#include "delegate_native/ops/op.h"

namespace quadra {

// The numbers that a slice takes of a constant of the shape.
ConstantData FoldSlice(SlicePlaces places, const Value& from, const Shape& to_shape);
// Takes `to_shape` elements of tensor `from` into tensor `to`.
void AddSlice(const KernelContext& context, SlicePlaces places, int from, const Shape& from_shape,
              int to, const Shape& to_shape, KernelList* list);

}  // namespace quadra

#endif  // QUADRA_OPS_SLICE_H_
