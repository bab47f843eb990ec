// The kernel of DEPTHWISE_CONV_2D, for a convolution of as many groups as channels too.
#ifndef QUADRA_OPS_DEPTHWISE_CONV2D_H_
#define QUADRA_OPS_DEPTHWISE_CONV2D_H_

#include "delegate_native/ops/op.h"

namespace quadra {

// Weights are 1HWO or, with groups of one channel, OHW1.
Status DepthwiseKernels(const KernelContext& context, const Graph& graph, const Node& node,
                        KernelList* list);

}  // namespace quadra

#endif  // QUADRA_OPS_DEPTHWISE_CONV2D_H_
