// The kernels that only drivers on the CPU get: cpu/ implements them. Libraries for phones are
// built with without_cpu.cc in its place, where all of these are null.
#ifndef QUADRA_OPS_CPU_KERNELS_H_
#define QUADRA_OPS_CPU_KERNELS_H_

#include <string>

#include "delegate_native/ops/conv_kernels.h"
#include "delegate_native/ops/conv_tiles.h"
#include "delegate_native/ops/depthwise_conv2d.h"
#include "delegate_native/ops/tile_text.h"

namespace quadra {

// How many rows of integer weights are a vector, the type of its sums, and how these are stored.
struct RowVector {
  int rows;
  const char *types, *store;
};

// Kernels of a kind of target that replace an op's own one; null: the op's own is used.
// Those that take a kernel set its body and its grid.
struct CpuKernels {
  // A convolution, unless it is one of three dimensions.
  void (*conv)(const KernelContext& context, const Conv& conv, KernelList* list) = nullptr;
  // A depthwise convolution whose weights lie column by column. False: its window is not for it.
  bool (*depthwise)(const Conv& conv, KernelDesc* kernel) = nullptr;
  void (*elementwise)(const Shape& out, KernelDesc* kernel) = nullptr;
  // `pixel`, the text for one pixel, brings the numbers of `made` in. bounded: within half.
  void (*to_slices)(const Value& made, bool dequantize, bool bounded, const std::string& pixel,
                    KernelDesc* kernel) = nullptr;
  // A pixel's numbers are those of `from` with its place and `to`.
  void (*from_slices)(const Shape& shape, const char* from, const char* to,
                      KernelDesc* kernel) = nullptr;
  // Along channels. `body` makes four results.
  void (*arg_max)(const Shape& out, bool is_float, bool least, const std::string& body,
                  KernelDesc* kernel) = nullptr;
  // Appends to the texts of a row and of a pixel.
  void (*resize_bilinear)(const Node& node, KernelList* list, std::string* row,
                          std::string* pixel) = nullptr;
  const RowVector* integer_rows = nullptr;

  // The tile of a convolution's work-item, and how many pixels the strip of a depthwise one has.
  QuadTile (*tile)(int w, bool pixel, const Conv& conv) = nullptr;
  int (*strip)(Strip strip, int w) = nullptr;
  const SerialTexts* serial = nullptr;
};
const CpuKernels& CpuKernelsFor(const GpuInfo& gpu);

// Texts that differ by little are one: a little more work in every inference is cheaper than one
// text more.
bool MergesSimilarSources(const GpuInfo& gpu);

}  // namespace quadra

#endif  // QUADRA_OPS_CPU_KERNELS_H_
