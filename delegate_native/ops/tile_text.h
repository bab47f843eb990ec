// Texts that the kernels of tiles (conv_gpu.cc) and strips (depthwise_conv2d.cc) have in common.
#ifndef QUADRA_OPS_TILE_TEXT_H_
#define QUADRA_OPS_TILE_TEXT_H_

#include <string>

namespace quadra {

// How these are written where work-items run one after another, as lanes of a vector: see
// cpu/serial_tiles.cc, which alone has them. Null stands for work-items that run together.
struct SerialTexts {
  // For a work-item that is beyond the grid if $beyond: declares `bool inside`.
  const char* guard;
  // Loops as of Loop below, whose body runs at least once.
  const char* loop;
  const char* loop_if_any;  // or never
  const char* once;         // or once
  // Declares `int end`, behind the weights from `at` on, or ends a loop's rows at `last`.
  const char *end, *last;
  // The products of a tile's pixels with `channels` weights for each of its slices.
  const char* products;
  // $results of the pixel `x + j` for each of a tile's $pixels below $width, whose sums $moves
  // moves to where the first one's are.
  const char* writes;
};

// for (int `i` = `from`; `more`; `i` += `step`) { body }, or as `text` has it.
std::string Loop(const char* text, const char* i, const char* from, const char* more, int step,
                 const std::string& body);

// The loop of work-items that run together, and what ends those beyond the grid.
extern const char* const kLoop;
extern const char* const kGuard;
// $write for each of $pixels: for all but the first if $exists.
extern const char* const kWritePixels;

}  // namespace quadra

#endif  // QUADRA_OPS_TILE_TEXT_H_
