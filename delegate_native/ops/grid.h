// How a kernel's results are spread over work-items: one result each, or whole rows where the
// target wants a work-item to make more (GpuInfo::results_per_item). The text is the same for both.
#ifndef QUADRA_OPS_GRID_H_
#define QUADRA_OPS_GRID_H_

#include <string>

#include "delegate_native/ops/op.h"

namespace quadra {

// Sets a kernel's grid, group and body. `row` finds `int y, s`, `pixel` also `int x`; both run for
// every place below the limits, which are the text of three numbers and their values:
// {"dst_w", "dst_h", "dst_s * dst_b"} and w, h, slices. A row without `pixel` goes itself from
// `x_begin` to `x_end`; a row with it may declare what one pixel leaves to the next.
struct Loops {
  const char* limits[3] = {"dst_w", "dst_h", "dst_s * dst_b"};
  const char* row = "";
  const char* pixel = "";
  int work = 1;  // that of so many plain results is in each of these
};
void LoopOver(const KernelContext& context, int w, int h, int depth, const Loops& loops,
              KernelDesc* desc);
// Every vec4 of the output.
void LoopOverResults(const KernelContext& context, const Shape& out, const char* row,
                     const char* pixel, KernelDesc* desc);
// The same for a text that makes `count` slices at once: from slice count * s on, as far as exist.
void LoopOverSlices(const KernelContext& context, const Shape& out, int count, const char* row,
                    const char* pixel, KernelDesc* desc);

// One work-item for all channels of a pixel, `sweeps` times over them; its `s` is the batch item.
void LoopOverPixels(const KernelContext& context, const Shape& shape, const char* pixel, int sweeps,
                    KernelDesc* desc);

// A group for a grid: near 8 x 8 x 1, filled up along other axes where the grid is thin, or another
// one where that starts fewer waves.
void SetGroup(const GpuInfo& gpu, KernelDesc* desc);

}  // namespace quadra

#endif  // QUADRA_OPS_GRID_H_
