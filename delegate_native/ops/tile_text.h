// Texts that the kernels of tiles (conv_gpu_text.cc) and strips (depthwise_conv2d.cc) have in
// common.
#ifndef QUADRA_OPS_TILE_TEXT_H_
#define QUADRA_OPS_TILE_TEXT_H_

#include <string>

namespace quadra {

// How these are written where work-items run one after another, as lanes of a vector
// (cpu/serial_tiles.cc). A null pointer to it stands for work-items that run together.
struct SerialTexts {
  // Declares `bool inside`: whether the work-item is in the grid, outside of which $beyond holds.
  const char* guard;
  // For Loop: the body runs at least once; any number of times; exactly once.
  const char *loop, *loop_if_any, *once;
  // The first declares `int end` of a loop over weights from `at` on; the second sets `last`, the
  // end of a loop over rows. Work-items outside of the grid make no iteration.
  const char *end, *last;
  // The products of a tile's pixels and its slices' weights of $channels channels.
  const char* products;
  // A loop over a tile's $pixels below $width: $results writes those of pixel `x + j`, and $moves
  // moves the sums by one pixel, so that the next ones are where the first ones were.
  const char* writes;
};

// The loop `text` with for (int `i` = `from`; `more`; `i` += `step`) { `body` }.
std::string Loop(const char* text, const char* i, const char* from, const char* more, int step,
                 const std::string& body);

// The loop of work-items that run together, and what ends those beyond the grid.
extern const char* const kLoop;
extern const char* const kGuard;
// $write for each of $pixels: for all but the first if $exists.
extern const char* const kWritePixels;

}  // namespace quadra

#endif  // QUADRA_OPS_TILE_TEXT_H_
