// Inferences in several threads: each launches parts of every dispatch.
#ifndef QUADRA_RUNTIME_OPENCL_POCL_CL_PARTS_H_
#define QUADRA_RUNTIME_OPENCL_POCL_CL_PARTS_H_

#include <vector>

#include "delegate_native/runtime/opencl/cl_host_device.h"
#include "delegate_native/runtime/opencl/pocl/cl_threads.h"

namespace quadra {

class ClPartsLauncher : public ClLauncher {
 public:
  ClPartsLauncher(ClContext* context, ClThreads* threads)
      : context_(*context), threads_(*threads) {}

  const size_t* origin() const override;
  Status LaunchAll(const std::vector<ClLaunch>& launches, cl_command_queue queue) override;

 private:
  Status LaunchWhole(const std::vector<ClLaunch>& launches, cl_command_queue queue);
  Status LaunchInThreads(const std::vector<ClLaunch>& launches, cl_command_queue queue);
  Status FindShortLaunches(const std::vector<ClLaunch>& launches, cl_command_queue queue);
  Status LaunchPart(const ClLaunch& launch, size_t part, size_t parts, cl_command_queue queue);
  Status LaunchGroups(const ClLaunch& launch, unsigned axis, size_t first, size_t count,
                      cl_command_queue queue);

  ClContext& context_;
  ClThreads& threads_;
  int whole_runs_ = 0;  // before there are any in threads
  // Parallel to the launches: a second thread would take more time than it saves.
  std::vector<char> is_short_;
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_POCL_CL_PARTS_H_
