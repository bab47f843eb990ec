// The kernel of SOFTMAX, for ops of which it is a step.
#ifndef QUADRA_OPS_SOFTMAX_H_
#define QUADRA_OPS_SOFTMAX_H_

#include "delegate_native/ops/op.h"

namespace quadra {

void AddSoftmax(const KernelContext& context, int from, int to, const Shape& shape, float beta,
                KernelList* list);

}  // namespace quadra

#endif  // QUADRA_OPS_SOFTMAX_H_
