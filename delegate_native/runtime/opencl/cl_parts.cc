// Inferences in several threads: each launches parts of every dispatch.
#include <algorithm>
#include <utility>

#include "delegate_native/base/clock.h"
#include "delegate_native/base/cpu_shapes.h"
#include "delegate_native/runtime/opencl/cl_executable.h"
#include "delegate_native/runtime/opencl/cl_threads.h"

namespace quadra {
namespace {

// PoCL's launch takes locks that all threads share, for about so long. Threads that come to them
// one after the other do not put each other to sleep.
constexpr int64_t kLaunchNs = 600;
// A launch that several threads share takes about 3 us more, in the same locks, and saves half.
constexpr int64_t kShortNs = 6000;

}  // namespace

Status ClExecutable::LaunchGroups(const Launch& launch, unsigned axis, size_t first, size_t count,
                                  cl_command_queue queue) {
  size_t offset[3] = {kWrappedOrigin, 0, 0}, global[3];
  std::copy_n(launch.global, 3, global);
  offset[axis] += first * launch.local[axis];
  global[axis] = count * launch.local[axis];
  const cl_int code = cl_.EnqueueNDRangeKernel(queue, launch.kernel.get(), 3, offset, global,
                                               launch.local, 0, nullptr, nullptr);
  if (code == CL_SUCCESS) return Status();
  const auto i = static_cast<unsigned>(&launch - launches_.data());
  return context_->Failed(Format("launch %s", plan_.dispatches()->Get(i)->name()->c_str()).c_str(),
                          code);
}

// As many work-groups in each part, along the axis that has most; what is left over is one more in
// the first parts. Not one launch of one more: PoCL keeps a kernel's function by its widest launch,
// and its assertions fail where two threads come to need two.
Status ClExecutable::LaunchPart(const Launch& launch, size_t part, size_t parts,
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
  const cl_int code = cl_.Finish(queue);
  return code == CL_SUCCESS ? Status() : context_->Failed("wait for the kernels", code);
}

Status ClExecutable::LaunchInThreads(ClThreads* threads) {
  std::vector<Status> results(threads->count());
  const auto work = [&](size_t thread, size_t dispatch, size_t part) {
    Status* status = &results[thread];
    const Launch& launch = launches_[dispatch];
    const size_t parts = launch.is_short ? 1 : threads->count();
    if (!status->ok() || part >= parts) return;
    *status = LaunchPart(launch, part, parts, threads->queue(thread));
  };
  if (!threads->Run(launches_.size(), work)) {
    return Launches(0, launches_.size(), queue_.get(), nullptr);
  }
  for (Status& result : results) QUADRA_RETURN_IF_ERROR(std::move(result));
  return Status();
}

Status ClExecutable::FindShortLaunches() {
  for (Launch& launch : launches_) {
    const int64_t begin = NowNs();
    QUADRA_RETURN_IF_ERROR(LaunchPart(launch, 0, 1, queue_.get()));
    launch.is_short = NowNs() - begin < kShortNs;
  }
  return Status();
}

// The first inference launches each dispatch whole: PoCL then compiles its kernel in the caller's
// thread alone, and keeps a function that serves all parts. The second one measures.
Status ClExecutable::LaunchAll() {
  ClThreads* threads = kHasCpuShapes && !hands_over() ? context_->threads.get() : nullptr;
  if (!threads || whole_runs_ == 0) {
    Status status = Launches(0, launches_.size(), queue_.get(), nullptr);
    if (threads && status.ok()) ++whole_runs_;
    return status;
  }
  const cl_int code = cl_.Finish(queue_.get());
  if (code != CL_SUCCESS) return context_->Failed("wait for the inputs", code);
  if (whole_runs_ > 1) return LaunchInThreads(threads);
  Status status = FindShortLaunches();
  if (status.ok()) ++whole_runs_;
  return status;
}

}  // namespace quadra
