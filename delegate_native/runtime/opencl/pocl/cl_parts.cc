#include "delegate_native/runtime/opencl/pocl/cl_parts.h"

#include <algorithm>
#include <utility>

#include "delegate_native/base/lean/clock.h"

namespace quadra {
namespace {

// PoCL's launch takes locks that all threads share, for about so long. Threads that come to them
// one after the other do not put each other to sleep.
constexpr int64_t kLaunchNs = 600;
// A launch that several threads share takes about 3 us more, in the same locks, and saves half.
constexpr int64_t kShortNs = 6000;

}  // namespace

const size_t* ClPartsLauncher::origin() const {
  static const size_t origin[3] = {kWrappedOrigin, 0, 0};
  return origin;
}

Status ClPartsLauncher::LaunchGroups(const ClLaunch& launch, unsigned axis, size_t first,
                                     size_t count, cl_command_queue queue) {
  size_t offset[3], global[3];
  std::copy_n(origin(), 3, offset);
  std::copy_n(launch.global, 3, global);
  offset[axis] += first * launch.local[axis];
  global[axis] = count * launch.local[axis];
  const cl_int code = context_.api.EnqueueNDRangeKernel(queue, launch.kernel.get(), 3, offset,
                                                        global, launch.local, 0, nullptr, nullptr);
  if (code == CL_SUCCESS) return Status();
  return context_.Failed(Format("launch %s", launch.name).c_str(), code);
}

// As many work-groups in each part, along the axis that has most; what is left over is one more in
// the first parts. Not one launch of one more: PoCL keeps a kernel's function by its widest launch,
// and its assertions fail where two threads come to need two.
Status ClPartsLauncher::LaunchPart(const ClLaunch& launch, size_t part, size_t parts,
                                   cl_command_queue queue) {
  unsigned axis = 0;
  size_t groups[3];
  for (unsigned i = 0; i < 3; ++i) {
    groups[i] = launch.global[i] / launch.local[i];
    if (groups[i] > groups[axis]) axis = i;
  }
  const size_t each = groups[axis] / parts, left = groups[axis] % parts;
  for (const int64_t turn = NowNs() + static_cast<int64_t>(part) * kLaunchNs; NowNs() < turn;) {
  }
  if (each > 0) QUADRA_RETURN_IF_ERROR(LaunchGroups(launch, axis, part * each, each, queue));
  if (part < left)
    QUADRA_RETURN_IF_ERROR(LaunchGroups(launch, axis, parts * each + part, 1, queue));
  const cl_int code = context_.api.Finish(queue);
  return code == CL_SUCCESS ? Status() : context_.Failed("wait for the kernels", code);
}

Status ClPartsLauncher::LaunchWhole(const std::vector<ClLaunch>& launches, cl_command_queue queue) {
  for (const ClLaunch& launch : launches) {
    const size_t groups = launch.global[0] / launch.local[0];
    QUADRA_RETURN_IF_ERROR(LaunchGroups(launch, 0, 0, groups, queue));
  }
  return Status();
}

Status ClPartsLauncher::LaunchInThreads(const std::vector<ClLaunch>& launches,
                                        cl_command_queue queue) {
  std::vector<Status> results(threads_.count());
  const auto work = [&](size_t thread, size_t dispatch, size_t part) {
    Status* status = &results[thread];
    const size_t parts = is_short_[dispatch] ? 1 : threads_.count();
    if (!status->ok() || part >= parts) return;
    *status = LaunchPart(launches[dispatch], part, parts, threads_.queue(thread));
  };
  if (!threads_.Run(launches.size(), work)) return LaunchWhole(launches, queue);
  for (Status& result : results) QUADRA_RETURN_IF_ERROR(std::move(result));
  return Status();
}

Status ClPartsLauncher::FindShortLaunches(const std::vector<ClLaunch>& launches,
                                          cl_command_queue queue) {
  is_short_.clear();
  for (const ClLaunch& launch : launches) {
    const int64_t begin = NowNs();
    QUADRA_RETURN_IF_ERROR(LaunchPart(launch, 0, 1, queue));
    is_short_.push_back(NowNs() - begin < kShortNs);
  }
  return Status();
}

// The first inference launches each dispatch whole: PoCL then compiles its kernel in the caller's
// thread alone, and keeps a function that serves all parts. The second one measures.
Status ClPartsLauncher::LaunchAll(const std::vector<ClLaunch>& launches, cl_command_queue queue) {
  if (whole_runs_ == 0) {
    Status status = LaunchWhole(launches, queue);
    if (status.ok()) ++whole_runs_;
    return status;
  }
  const cl_int code = context_.api.Finish(queue);
  if (code != CL_SUCCESS) return context_.Failed("wait for the inputs", code);
  if (whole_runs_ > 1) return LaunchInThreads(launches, queue);
  Status status = FindShortLaunches(launches, queue);
  if (status.ok()) ++whole_runs_;
  return status;
}

}  // namespace quadra
