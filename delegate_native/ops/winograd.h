// Convolutions of 3 x 3 pixels by Winograd's F(4 x 4, 3 x 3): 36 products for 16 results instead of
// 144 (docs/kernels.md).
#ifndef QUADRA_OPS_WINOGRAD_H_
#define QUADRA_OPS_WINOGRAD_H_

#include "delegate_native/ops/conv_kernels.h"

namespace quadra {

// Appends its kernels if it is such a convolution, large enough that the target gains by it.
bool AddWinograd(const KernelContext& context, const Conv& conv, KernelList* list);

}  // namespace quadra

#endif  // QUADRA_OPS_WINOGRAD_H_
