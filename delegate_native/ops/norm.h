// Kernels of a pixel's channels, of whose numbers they need the mean square first.
#ifndef QUADRA_OPS_NORM_H_
#define QUADRA_OPS_NORM_H_

#include "delegate_native/ops/op.h"

namespace quadra {

// Gives a kernel of src and dst the numbers, grid and text of a norm (ops/norm.cc). `each` is run
// for the slices from 0 to below `limit`, a number in the text; it finds `int x, y, i`, `int
// first`, where the pixel's slices begin, and `sum_t scale`, by which its numbers are multiplied.
void MakeNorm(const KernelContext& context, const Shape& shape, const Attributes& attributes,
              const char* limit, const char* each, KernelDesc* kernel);

}  // namespace quadra

#endif  // QUADRA_OPS_NORM_H_
