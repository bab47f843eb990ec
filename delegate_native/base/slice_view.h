// How the slices of four channels of a tensor lie among those of one pixel.
#ifndef QUADRA_BASE_SLICE_VIEW_H_
#define QUADRA_BASE_SLICE_VIEW_H_

namespace quadra {

// All slices of its first pixel, those of the next one, and so on: from the pixel's slice `begin`
// on, in one piece, or in runs of `run` slices with `gap` others between two of them.
struct SliceView {
  int begin = 0;
  int run = 0;  // 0: one piece
  int gap = 0;
};

}  // namespace quadra

#endif  // QUADRA_BASE_SLICE_VIEW_H_
