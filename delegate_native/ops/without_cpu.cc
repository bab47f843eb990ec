// Libraries for phones have this instead of cpu/.
#include "delegate_native/ops/cpu_kernels.h"

namespace quadra {
namespace {

constexpr CpuKernels kNone = {};

}  // namespace

const CpuKernels& CpuKernelsFor(const GpuInfo&) { return kNone; }
bool MergesSimilarSources(const GpuInfo&) { return false; }

}  // namespace quadra
