// The kernels of all convolutions: which text computes one, by target and size. Sizes are arguments
// of the kernels, so that one program serves many nodes.
#ifndef QUADRA_OPS_CONV_KERNELS_H_
#define QUADRA_OPS_CONV_KERNELS_H_

#include <string>
#include <vector>

#include "delegate_native/base/lean/function.h"
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/ops/op.h"
#include "delegate_native/ops/window.h"

namespace quadra {

// A convolution of tensor `src` into places of tensor `dst`.
struct Conv {
  const char* name = "conv2d";
  int src = -1, dst = -1;
  Shape in, out;
  // Makes them when the plan is written: [matrices][out.c][depth.kernel_y][window.kernel_y]
  // [window.kernel_x][group_in()].
  Function<SharedFloats()> weights;
  std::vector<float> bias;  // out.c values, or none
  int matrices = 1;         // of weights: several are one for each batch item
  int groups = 1;           // of channels; each is a convolution of its own
  Window window;            // pads at the end do not matter here
  // With three dimensions: `window` along the axis before y. Planes are batches.
  Window depth;
  // Results lie at step * i + first of the output: a transposed convolution is several of these.
  int step_y = 1, step_x = 1, first_y = 0, first_x = 0;
  int step_z = 1, first_z = 0;
  // A plane may be one long row: no merged step asks for more (EpilogueAllowsPlaneAsRow).
  bool plane_as_row = false;
  bool plain = true;  // no merged step follows
  Bounds bounds;      // of the results

  // Channels of a group.
  int group_in() const { return in.c / groups; }
  int group_out() const { return out.c / groups; }
  bool scattered() const { return step_y > 1 || step_x > 1; }
  // Whether a plane of the result is not just the same plane of the source, convolved.
  bool deep() const {
    return depth.kernel_y != 1 || depth.pad_top != 0 || step_z > 1 || in.axis(0) != out.axis(0);
  }
  // Whether a result's pixel is made of the same pixel of the source.
  bool pointwise() const {
    return taps() == 1 && !scattered() && !deep() && window.stride_x == 1 && window.stride_y == 1 &&
           window.pad_left == 0 && window.pad_top == 0 && in.w == out.w && in.h == out.h;
  }
  int taps() const { return depth.kernel_y * window.kernel_y * window.kernel_x; }
  // Results along one axis.
  int grid_d() const { return CeilDiv(out.axis(0) - first_z, step_z); }
  int grid_w() const { return CeilDiv(out.w - first_x, step_x); }
  int grid_h() const { return CeilDiv(out.h - first_y, step_y); }
};

// Where a plan computes in half, so many products are added in half, and of a depthwise
// convolution's window or its row twice as many: each sum is off by at most 2^-11 of what it is so
// far, all of them by less than 0.2 %, or 0.4 %, of the products' sizes together.
constexpr int kMostHalfProducts = 8;
// The products of a depthwise convolution that are added in half before floats take over: all of a
// result, or those of a row of the window.
enum class HalfSums : uint8_t { kNone, kAll, kOfRow };

// Whether the node's bias, input 2, is absent or has a value for each channel.
Status CheckBias(const Graph& graph, const Node& node, int channels);

// A node's convolution but for its weights and window. Its bounds are taken from the merged steps.
Conv ConvOf(const Graph& graph, const Node& node, const char* name, KernelList* list);

// Appends the kernels that compute it: Winograd's, those of AddGpuConv or the target's own.
void AddConv(const KernelContext& context, const Conv& conv, KernelList* list);

// A block of `lanes` output channels reads the input slices of the groups that it lies in: so many,
// the same number for all blocks.
int SlicesOfBlock(const Conv& conv, int lanes);
// Text that declares `int first_s`, the first of them, for the block that begins with `channel`;
// and the numbers that it speaks of.
std::string FindFirstSlice(const char* channel);
void AddGroupNumbers(const Conv& conv, int lanes, KernelDesc* kernel);

// Bias values, zeros where there is none, filled up to `count`.
std::vector<float> BiasOf(const Conv& conv, int count);
// [block][tap][input channel up to `in_c`][`lanes` output channels], zeros where there is no
// channel, or one of another group. Of groups, input channels are those that the block reads.
std::vector<float> PackConvWeights(const Conv& conv, int lanes, int in_c);
// How many numbers that are.
int64_t PackedFloats(const Conv& conv, int lanes, int in_c);
// Adds the scalar arguments that every convolution's kernel has.
void AddConvNumbers(const Conv& conv, KernelDesc* kernel);

// As GPUs do it: in 4 channels at a time, by as many kernels as the device's limits ask for.
void AddGpuConv(const KernelContext& context, const Conv& conv, KernelList* list);

}  // namespace quadra

#endif  // QUADRA_OPS_CONV_KERNELS_H_
