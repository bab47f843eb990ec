// The kernel of slices, for ops that take parts of a tensor.
#ifndef QUADRA_OPS_SLICE_H_
#define QUADRA_OPS_SLICE_H_

#include "delegate_native/ops/op.h"

namespace quadra {

// Along each axis: where the first element is, and how far the next one is from it.
struct SlicePlaces {
  int start[kMostRank] = {0, 0, 0, 0, 0, 0};
  int stride[kMostRank] = {1, 1, 1, 1, 1, 1};

  int* start_of(int axis) { return &start[axis - kFirstAxis]; }
  int* stride_of(int axis) { return &stride[axis - kFirstAxis]; }
};

// The numbers that a slice takes of a constant of the shape.
ConstantData FoldSlice(SlicePlaces places, const Value& from, const Shape& to_shape);
// Takes `to_shape` elements of tensor `from` into tensor `to`.
void AddSlice(const KernelContext& context, SlicePlaces places, int from, const Shape& from_shape,
              int to, const Shape& to_shape, KernelList* list);

}  // namespace quadra

#endif  // QUADRA_OPS_SLICE_H_
