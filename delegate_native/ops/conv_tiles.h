// How much of a convolution one work-item of a GPU computes.
#ifndef QUADRA_OPS_CONV_TILES_H_
#define QUADRA_OPS_CONV_TILES_H_

#include "delegate_native/device/gpu_info.h"
#include "delegate_native/ops/conv_kernels.h"

namespace quadra {

// `pixels` neighbours of a row in `slices` slices; 2^split_bits work-items share the input
// channels.
struct QuadTile {
  int pixels, slices;
  int split_bits = 0;
  int channels = 0;          // of a source that is one slice, where the text is for as many
  bool half = false;         // products, and sums of kMostHalfProducts
  bool stores_half = false;  // and what is written
  bool pairs = false;        // weights are read two at once
  bool repeats = false;      // the last result of a row is written again for those beyond its end

  constexpr QuadTile(int p, int s) : pixels(p), slices(s) {}
};

// For a grid of w x h results from so many slices. `pixel`: each is made from one pixel of the
// source.
QuadTile TileFor(const GpuInfo& gpu, int w, int h, bool pixel, const Conv& conv, int in_slices);

}  // namespace quadra

#endif  // QUADRA_OPS_CONV_TILES_H_
