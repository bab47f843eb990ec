// How much of a convolution one work-item of a GPU computes.
#ifndef QUADRA_OPS_CONV_TILES_H_
#define QUADRA_OPS_CONV_TILES_H_

#include "delegate_native/device/gpu_info.h"
#include "delegate_native/ops/conv_kernels.h"

namespace quadra {

// `pixels` neighbours of a row in `slices` slices; 2^split_bits work-items share the input
// channels. `serial`: work-items run one after another, and the tile is larger than the registers.
struct QuadTile {
  int pixels, slices;
  int split_bits = 0;
  bool serial = false;
  int channels = 0;  // serial, with a window: of a source that is one slice

  constexpr QuadTile(int p, int s) : pixels(p), slices(s) {}
  // Known to be false where a library does without such texts.
  constexpr bool is_serial() const { return kHasCpuShapes && serial; }
};

// For a grid of w x h results from so many slices. `pixel`: each is made from one pixel of the
// source.
QuadTile TileFor(const GpuInfo& gpu, int w, int h, bool pixel, const Conv& conv, int in_slices);

}  // namespace quadra

#endif  // QUADRA_OPS_CONV_TILES_H_
