// Graph and target in, Plan out: kernels, storage, memory, text.
#ifndef QUADRA_PLAN_MAKE_PLAN_H_
#define QUADRA_PLAN_MAKE_PLAN_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "delegate_native/base/group.h"
#include "delegate_native/base/status.h"
#include "delegate_native/device/gpu_info.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/kernel/dialect.h"

namespace quadra {

// The bytes of a finished fb::Plan (plan/plan.fbs), aligned so that a device which shares the
// host's memory can use its constants where they are.
class PlanBytes {
 public:
  static constexpr size_t kAlignment = 64;

  // Whole pages, from mmap.
  struct Unmap {
    size_t bytes;
    void operator()(uint8_t* pages) const { munmap(pages, bytes); }
  };
  using Pages = std::unique_ptr<uint8_t, Unmap>;

  PlanBytes() = default;
  // The plan are the bytes from `offset` on.
  PlanBytes(Pages pages, size_t offset, size_t size)
      : pages_(std::move(pages)), offset_(offset), size_(size) {}

  const uint8_t* data() const { return pages_.get() + offset_; }
  size_t size() const { return size_; }

 private:
  Pages pages_;
  size_t offset_ = 0, size_ = 0;
};

// What a plan is to be like, beside what its target decides. Where a driver refuses the plan, the
// next request is another one (session/revise.h); the target stays.
struct PlanRequest {
  Precision precision = Precision::kF32;
  // Whether work-items may share sums where the target allows it.
  bool shares_sums = true;
  // Of dispatches, in the place of the kernels' own where these are free (fb::Dispatch.grid); the
  // others, and those that are all 0, stay.
  std::vector<Group> groups;
  int most_items = INT32_MAX;  // of a group, where the target allows more
};

// The kernels are in the language of gpu.api. Each of the graph's `tensors` that a kernel stores is
// also copied (fb::Tensor.copy_of); the kernels and their memory are the same.
Status MakePlan(const Graph& graph, const GpuInfo& gpu, const PlanRequest& request,
                PlanBytes* plan);

// Two copies in a plan of checks that should be the same.
struct Check {
  int first = 0;       // of the dispatches whose result the first one is,
  int end = 0;         // and behind the last
  float step = 0.0f;   // of the grid that results are on, and may be one beside; 0: of none
  bool jumps = false;  // some results may be far off where an operand hardly differs
};

// A plan that computes each value twice, of the same operands: by the program of the graph's plan,
// and by the op's plainest kernels, compiled without optimisation. The copies behind them have the
// numbers 2 i and 2 i + 1 (fb::Tensor.copy_of less one) for checks[i]. Later kernels read the
// second result. It has the graph's inputs; its outputs are not written.
Status MakeChecks(const Graph& graph, const GpuInfo& gpu, const PlanRequest& request,
                  PlanBytes* plan, std::vector<Check>* checks);

}  // namespace quadra

#endif  // QUADRA_PLAN_MAKE_PLAN_H_
