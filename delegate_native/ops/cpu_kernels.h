// The kernels that only drivers on the CPU get: cpu/ implements them. Libraries for phones are
// built with without_cpu.cc instead, where all of these are null.
#ifndef QUADRA_OPS_CPU_KERNELS_H_
#define QUADRA_OPS_CPU_KERNELS_H_

#include <string>

#include "delegate_native/ops/conv_kernels.h"
#include "delegate_native/ops/conv_tiles.h"
#include "delegate_native/ops/depthwise_conv2d.h"
#include "delegate_native/ops/tile_text.h"

namespace quadra {

// A vector of rows of integer weights: how many, the text that defines the type of its sums, and
// the one that stores these.
struct RowVector {
  int rows;
  // Whether all rows of the source are multiplied by a block's weights before the next ones.
  bool tiles_first;
  const char *types, *store;
};

// A kind of target's kernels for ops and for parts of them. Where one is null, the target runs the
// op's own kernel. The functions that take a kernel set its body and its grid.
struct CpuKernels {
  // Not for convolutions of three dimensions.
  void (*conv)(const KernelContext& context, const Conv& conv, KernelList* list) = nullptr;
  // Its weights lie column by column. False: it has no text for this window.
  bool (*depthwise)(const Conv& conv, KernelDesc* kernel) = nullptr;
  void (*elementwise)(const Shape& out, KernelDesc* kernel) = nullptr;
  // `pixel` is the text that writes one pixel of `made`. bounded: numbers are kept within half.
  void (*to_slices)(const Value& made, bool dequantize, bool bounded, const std::string& pixel,
                    KernelDesc* kernel) = nullptr;
  // The text of a pixel's numbers is `from`, its place and `to`.
  void (*from_slices)(const Shape& shape, const char* from, const char* to,
                      KernelDesc* kernel) = nullptr;
  // Only along channels. `body` is the text that makes four results.
  void (*arg_max)(const Shape& out, bool is_float, bool least, const std::string& body,
                  KernelDesc* kernel) = nullptr;
  // It appends to the texts of a row and of a pixel.
  void (*resize_bilinear)(const Node& node, KernelList* list, std::string* row,
                          std::string* pixel) = nullptr;
  const RowVector* integer_rows = nullptr;

  // The tile of a convolution's work-item, and how many pixels the strip of a depthwise one has.
  QuadTile (*tile)(int w, bool pixel, const Conv& conv) = nullptr;
  int (*strip)(Strip strip, int w) = nullptr;
  const SerialTexts* serial = nullptr;
};
const CpuKernels& CpuKernelsFor(const GpuInfo& gpu);

// Whether sources that differ by little become one: a little more work in every inference is
// cheaper than one more source to compile (llvmpipe).
bool MergesSimilarSources(const GpuInfo& gpu);

}  // namespace quadra

#endif  // QUADRA_OPS_CPU_KERNELS_H_
