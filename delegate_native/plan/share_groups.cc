#include "delegate_native/plan/share_groups.h"

#include <algorithm>
#include <limits>

#include "delegate_native/base/shape.h"

namespace quadra {
namespace {

// Another program is worth so much of the work of a plan.
constexpr double kWorth = 0.005;

struct Size {
  int x, y, z;
};

// All groups of a target, those of few slices last: they read fewer weights.
std::vector<Size> SizesFor(const GpuInfo& gpu) {
  const int wanted = std::min(gpu.wanted_group_size(), gpu.max_work_group_size);
  std::vector<Size> sizes;
  for (int z = std::min(wanted, gpu.max_work_group[2]); z > 0; --z) {
    for (int x = 1; x <= std::min(wanted / z, gpu.max_work_group[0]); ++x)
      sizes.push_back({x, std::min(wanted / z / x, gpu.max_work_group[1]), z});
  }
  return sizes;
}

// About as much as the waves of its groups execute: the length of the text times the iterations of
// its loops.
double WorkOf(const KernelDesc& kernel, const Size& size) {
  const double groups = double{1} * CeilDiv(kernel.grid[0], size.x) *
                        CeilDiv(kernel.grid[1], size.y) * CeilDiv(kernel.grid[2], size.z);
  return groups * static_cast<double>(kernel.trips + 1) * static_cast<double>(kernel.body.size());
}

double OwnWorkOf(const KernelDesc& kernel) {
  return WorkOf(kernel, {kernel.group[0], kernel.group[1], kernel.group[2]});
}

bool HaveOneGroup(const KernelDesc& a, const KernelDesc& b) {
  return std::equal(a.group, a.group + 3, b.group);
}

bool HaveOneText(const KernelDesc& a, const KernelDesc& b) {
  return a.name == b.name && a.body == b.body && a.variant == b.variant &&
         a.tensors[a.Written()].epilogue == b.tensors[b.Written()].epilogue;
}

// The work of all of them by the cheapest of their groups so far, or by one more.
double WorkWith(const std::vector<KernelDesc*>& kernels, const std::vector<double>& so_far,
                const Size& size) {
  double work = 0;
  for (size_t i = 0; i < kernels.size(); ++i)
    work += std::min(so_far[i], WorkOf(*kernels[i], size));
  return work;
}

// Groups for kernels of one text, one after another, as long as one more saves as much as it is
// worth.
void ShareAmong(const std::vector<Size>& sizes, double worth,
                const std::vector<KernelDesc*>& kernels) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<double> so_far(kernels.size(), kNone);
  for (double before = kNone;;) {
    const Size* best = nullptr;
    double least = before - worth;
    for (const Size& size : sizes) {
      const double work = WorkWith(kernels, so_far, size);
      if (work <= least) least = work, best = &size;  // the flattest of equal ones
    }
    if (!best) return;
    before = least;
    for (size_t i = 0; i < kernels.size(); ++i) {
      const double work = WorkOf(*kernels[i], *best);
      if (work >= so_far[i]) continue;
      so_far[i] = work;
      kernels[i]->Group(best->x, best->y, best->z);
    }
  }
}

}  // namespace

void ShareGroups(const GpuInfo& gpu, std::vector<KernelDesc>* kernels) {
  if (!gpu.runs_items_together() || gpu.flat_group > 0) return;
  double all = 0;
  std::vector<KernelDesc*> left;
  for (KernelDesc& kernel : *kernels) {
    all += OwnWorkOf(kernel);
    if (kernel.HasFreeGroup() && !kernel.variant.unoptimised) left.push_back(&kernel);
  }
  const std::vector<Size> sizes = SizesFor(gpu);
  while (!left.empty()) {
    KernelDesc* const first = left.front();
    const auto others = std::stable_partition(
        left.begin(), left.end(), [&](KernelDesc* one) { return HaveOneText(*first, *one); });
    const std::vector<KernelDesc*> alike(left.begin(), others);
    left.erase(left.begin(), others);
    const bool differ = std::any_of(alike.begin(), alike.end(),
                                    [&](KernelDesc* one) { return !HaveOneGroup(*first, *one); });
    if (differ && all > 0) ShareAmong(sizes, all * kWorth, alike);
  }
}

}  // namespace quadra
