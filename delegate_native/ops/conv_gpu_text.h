// The text of a GPU's convolution.
#ifndef QUADRA_OPS_CONV_GPU_TEXT_H_
#define QUADRA_OPS_CONV_GPU_TEXT_H_

#include <string>

#include "delegate_native/ops/conv_kernels.h"
#include "delegate_native/ops/conv_tiles.h"
#include "delegate_native/ops/cpu_kernels.h"

namespace quadra {

// Input slices that one kernel multiplies: all, those of a work-item's groups, or as many as a
// device's loops and buffers allow. Then each kernel adds its results to those of the one before.
enum class Slices { kAll, kOfGroups, kByInputs };
struct Part {
  Slices slices = Slices::kAll;
  int first = 0, count = 0;
  int before = -1;  // tensor with the sums so far
  int to = -1;
  bool round = false;  // the results, as the bounds say
  // Output slices that the kernel makes, of which the last tile may be beyond the end; none: all.
  int first_out = 0, outs = 0;
};

// `pixel`: each result is made from one pixel of the source. `serial`: parts for targets that run
// work-items one after another; null: a GPU's.
std::string QuadBody(const QuadTile& t, const Conv& conv, const Part& part, bool pixel,
                     const SerialTexts* serial);

}  // namespace quadra

#endif  // QUADRA_OPS_CONV_GPU_TEXT_H_
