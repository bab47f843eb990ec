// The kernel of DEPTHWISE_CONV_2D, for a convolution of as many groups as channels too.
#ifndef QUADRA_OPS_DEPTHWISE_CONV2D_H_
#define QUADRA_OPS_DEPTHWISE_CONV2D_H_

#include <functional>

#include "delegate_native/ops/op.h"

namespace quadra {

// `hwc` makes the node's weights when the plan is written; `weights` is their shape, 1HW(C*M).
Status AddDepthwise(const KernelContext& context, const Graph& graph, const Node& node,
                    const Shape& weights, std::function<SharedFloats()> hwc, KernelList* list);

}  // namespace quadra

#endif  // QUADRA_OPS_DEPTHWISE_CONV2D_H_
