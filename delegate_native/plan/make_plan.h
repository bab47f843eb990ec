// Graph and target in, Plan out: kernels, storage, memory, text.
#ifndef QUADRA_PLAN_MAKE_PLAN_H_
#define QUADRA_PLAN_MAKE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "delegate_native/base/program_binary.h"
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

  PlanBytes() = default;
  // Takes over memory from malloc and its like: the plan are its bytes from `offset` on.
  PlanBytes(uint8_t* memory, size_t offset, size_t end)
      : bytes_(memory), offset_(offset), size_(end - offset) {}

  const uint8_t* data() const { return bytes_.get() + offset_; }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(uint8_t* bytes) const { free(bytes); }
  };
  std::unique_ptr<uint8_t, Free> bytes_;
  size_t offset_ = 0, size_ = 0;
};

// The kernels are in the language of gpu.api. `binaries`: of the programs of this same plan, as an
// executable gave them, to be kept with it; or none. Each of the graph's `tensors` that a kernel
// stores is also copied (fb::Tensor.copy_of); the kernels and their memory are the same.
Status MakePlan(const Graph& graph, const GpuInfo& gpu, Precision precision,
                const std::vector<ProgramBinary>& binaries, PlanBytes* plan);

}  // namespace quadra

#endif  // QUADRA_PLAN_MAKE_PLAN_H_
