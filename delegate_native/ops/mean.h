// The kernels of MEAN, for ops that are a mean under another name.
#ifndef QUADRA_OPS_MEAN_H_
#define QUADRA_OPS_MEAN_H_

#include "delegate_native/ops/op.h"

namespace quadra {

// Means of tensor `from` into tensor `to`, along the axes where `to_shape` has 1. Sums of `chunk`
// pixels each are added to the total.
void AddMeanKernels(const KernelContext& context, int from, const Shape& from_shape, int to,
                    const Shape& to_shape, int chunk, KernelList* list);

}  // namespace quadra

#endif  // QUADRA_OPS_MEAN_H_
