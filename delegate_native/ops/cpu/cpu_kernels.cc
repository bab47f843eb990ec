#include "delegate_native/ops/cpu_kernels.h"

#include "delegate_native/base/texts.h"
#include "delegate_native/ops/cpu/serial_tiles.h"
#include "delegate_native/ops/cpu/wide_kernels.h"

namespace quadra {
namespace {

// Sums of integer weights are stored as four slices.
constexpr RowVector kSixteenRows = {
    16,
    true,
    "#define sum16_t vec16\n",
    QUADRA_TEXT(
        "$for(i, pixels) vec4 four$i[4]; *(vec16*)four$i = a$i_0; ${tiled:,if (x + $i < dst_w) }"
        "for (int j = 0; j < min(dst_s - o * 4, 4); ++j) "
        "{ write_dst(four$i[j], $place, y, b * dst_s + o * 4 + j); }\n"),
};

// Which op has which kernel for which kind of target.

// PoCL: wide vectors, few large work-items.
constexpr CpuKernels kWide = {
    .conv = AddWideConv,
    .depthwise = MakeWideDepthwise,
    .elementwise = MakeRowOfSteps,
    .to_slices = MakeRowToSlices,
    .from_slices = MakeRowFromSlices,
    .arg_max = MakeWideArgMax,
    .resize_bilinear = AddWideResize,
    .integer_rows = &kSixteenRows,
};

// llvmpipe: work-items run one after another.
constexpr CpuKernels kSerial = {
    .tile = SerialTile,
    .strip = SerialStrip,
    .serial = &kSerialTexts,
};

// GPUs.
constexpr CpuKernels kNone = {};

}  // namespace

const CpuKernels& CpuKernelsFor(const GpuInfo& gpu) {
  return gpu.is_cpu() ? kWide : gpu.runs_items_serially() ? kSerial : kNone;
}

bool MergesSimilarSources(const GpuInfo& gpu) { return gpu.compiles_at_dispatch; }

}  // namespace quadra
