#include "delegate_native/runtime/opencl/pocl/cl_threads.h"

#include <sched.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "delegate_native/base/lean/clock.h"
#include "delegate_native/base/log.h"

namespace quadra {
namespace {

// Longer than the parts of one dispatch differ on an idle machine. On a busy one another thread may
// have to get this one's processor.
constexpr int64_t kSpinNs = 20000;
constexpr size_t kMostThreads = 64;

// Waits a little, for what has not come since.
void Wait(int64_t since) {
  if (NowNs() - since > kSpinNs) sched_yield();
#if defined(__x86_64__) || defined(__i386__)
  for (int i = 0; i < 16; ++i) __builtin_ia32_pause();
#endif
}

// A device that computes in the thread that launches.
struct Kind {
  cl_device_type type = 0;
  cl_uint units = 0;
  char name[256] = {};
};

Kind KindOf(const ClApi& cl, cl_device_id device) {
  Kind kind;
  cl.GetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(kind.type), &kind.type, nullptr);
  cl.GetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(kind.units), &kind.units, nullptr);
  cl.GetDeviceInfo(device, CL_DEVICE_NAME, sizeof(kind.name) - 1, kind.name, nullptr);
  return kind;
}

size_t ThreadsOf(const ClContext& context) {
  const ClApi& cl = context.api;
  const Kind own = KindOf(cl, context.device);
  if (own.type != CL_DEVICE_TYPE_CPU || own.units != 1 || kWrappedOrigin == 0) return 1;
  cl_device_id devices[kMostThreads];
  cl_uint count = 0;
  if (cl.GetDeviceIDs(context.platform, CL_DEVICE_TYPE_CPU, kMostThreads, devices, &count))
    return 1;
  count = std::min(count, static_cast<cl_uint>(kMostThreads));
  return static_cast<size_t>(std::count_if(devices, devices + count, [&](cl_device_id device) {
    const Kind kind = KindOf(cl, device);
    return kind.units == 1 && strcmp(kind.name, own.name) == 0;
  }));
}

}  // namespace

// The next part, if it can begin. Whoever takes one takes it of this very inference: another would
// have another number.
bool ClThreads::Take(size_t thread) {
  uint64_t next = next_.load();
  const size_t part = static_cast<uint32_t>(next), begun = part - part % count();
  if (part >= total_.load() || done_.load() < begun) return false;
  if (!next_.compare_exchange_strong(next, next + 1)) return false;
  work_(thread, part / count(), part % count());
  ++done_;
  return true;
}

bool ClThreads::Run(size_t dispatches, Work work) {
  if (is_taken_.exchange(true)) return false;
  const size_t total = dispatches * count();
  next_ = ((next_ >> 32) + 1) << 32;
  done_ = 0;
  work_ = std::move(work);
  total_ = total;
  if (asleep_.load() > 0) {
    const MutexLock lock(&mutex_);
    begins_->NotifyAll();
  }
  for (int64_t since = NowNs(); done_.load() < total;) {
    if (Take(0)) since = NowNs();
    else Wait(since);
  }
  total_ = 0;
  is_taken_ = false;
  return true;
}

void ClThreads::Help(size_t thread) {
  {
    const MutexLock lock(&mutex_);
  }  // see Start
  for (int64_t since = NowNs(); !ends_.load();) {
    if (Take(thread)) {
      since = NowNs();
    } else if (total_.load() > 0 || NowNs() - since < kSpinNs) {
      Wait(since);
    } else {
      const MutexLock lock(&mutex_);
      ++asleep_;
      begins_->Wait(&mutex_, [&] { return total_.load() > 0 || ends_.load(); });
      --asleep_;
      since = NowNs();
    }
  }
}

ClThreads::~ClThreads() {
  if (!home_.is_here()) {
    // The threads did not come along; whoever ends what they wait for waits for them.
    begins_.release();  // NOLINT(bugprone-unused-return-value): nobody frees it
    return;
  }
  ends_ = true;
  {
    const MutexLock lock(&mutex_);
    begins_->NotifyAll();
  }
  for (const Helper& helper : helpers_) pthread_join(helper.thread, nullptr);
}

// Where the system has no thread left, the threads are those that there are.
void ClThreads::Start() {
  const auto help = [](void* helper) -> void* {
    const Helper& own = *static_cast<Helper*>(helper);
    own.threads->Help(own.index);
    return nullptr;
  };
  const MutexLock lock(&mutex_);  // helpers begin once their number stands
  for (size_t thread = 1; thread < count(); ++thread) {
    helpers_.push_back({this, thread, {}});
    if (StartThread("quadra-launch", help, &helpers_.back(), &helpers_.back().thread) == 0)
      continue;
    helpers_.pop_back();
    queues_.resize(thread);
  }
}

std::unique_ptr<ClThreads> MakeClThreads(const ClContext& context) {
  const size_t wanted = ThreadsOf(context);
  if (wanted < 2) return nullptr;
  auto threads = std::make_unique<ClThreads>();
  while (threads->count() < wanted) {
    cl_int code = CL_SUCCESS;
    cl_command_queue queue =
        context.api.CreateCommandQueue(context.context.get(), context.device, 0, &code);
    if (!queue || code != CL_SUCCESS) break;
    threads->queues_.emplace_back(queue, context.api.ReleaseCommandQueue);
  }
  if (threads->count() < 2) return nullptr;
  threads->Start();
  Log(1, "%zu threads launch kernels", threads->count());
  return threads;
}

}  // namespace quadra
