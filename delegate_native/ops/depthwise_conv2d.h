// The kernel of DEPTHWISE_CONV_2D, for a convolution of as many groups as channels too.
#ifndef QUADRA_OPS_DEPTHWISE_CONV2D_H_
#define QUADRA_OPS_DEPTHWISE_CONV2D_H_

#include <vector>

#include "delegate_native/ops/conv_kernels.h"

namespace quadra {

// A strip of neighbours of a row: what one reads, the next ones use again. Everything along x, and
// the dilation along y, is in the text.
struct Strip {
  int pixels, taps, stride, dilation, dilation_y;
  HalfSums half;             // of all products, or of a row
  bool stores_half = false;  // what is written

  bool in_half() const { return half != HalfSums::kNone; }
  int Column(int pixel, int tap) const { return pixel * stride + tap * dilation; }
  // Those of the source that it reads.
  std::vector<int> Columns() const;
};

// Weights are 1HWO or, with groups of one channel, OHW1.
Status DepthwiseKernels(const KernelContext& context, const Graph& graph, const Node& node,
                        KernelList* list);

}  // namespace quadra

#endif  // QUADRA_OPS_DEPTHWISE_CONV2D_H_
