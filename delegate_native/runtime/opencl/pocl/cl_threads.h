// Threads that launch parts of one dispatch at once, for drivers that run a kernel in the thread
// that launches it. During an inference they wait in a loop, as XNNPACK's do: a thread that sleeps
// takes longer to wake than many dispatches take. Who comes first takes the next part, so that a
// thread that gets no processor holds nobody up.
#ifndef QUADRA_RUNTIME_OPENCL_POCL_CL_THREADS_H_
#define QUADRA_RUNTIME_OPENCL_POCL_CL_THREADS_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "delegate_native/base/lean/function.h"
#include "delegate_native/base/lean/mutex.h"
#include "delegate_native/base/lean/thread.h"
#include "delegate_native/runtime/fork_guard.h"
#include "delegate_native/runtime/opencl/cl_context.h"

namespace quadra {

class ClThreads {
 public:
  ~ClThreads();

  using Work = Function<void(size_t thread, size_t dispatch, size_t part)>;
  // Does all parts of all dispatches, `count` of each: those of one at once, after all of the one
  // before. The caller's thread is thread 0. False, and nothing is done: another inference has
  // them.
  bool Run(size_t dispatches, Work work);

  size_t count() const { return queues_.size(); }
  cl_command_queue queue(size_t thread) const { return queues_[thread].get(); }

 private:
  friend std::unique_ptr<ClThreads> MakeClThreads(const ClContext& context);
  struct Helper {
    ClThreads* threads;
    size_t index;
    pthread_t thread;
  };
  void Start();
  void Help(size_t thread);
  bool Take(size_t thread);

  const ForkGuard home_;
  std::vector<ClHandle<cl_command_queue>> queues_;
  std::list<Helper> helpers_;
  std::atomic<bool> is_taken_{false}, ends_{false};
  Work work_;                      // of the inference: stands while one of its parts is not done
  std::atomic<uint64_t> next_{0};  // the inference's number, and in the lower half the next part's
  std::atomic<size_t> done_{0}, total_{0};  // its parts; 0: there is no inference
  std::atomic<int> asleep_{0};
  Mutex mutex_;
  std::unique_ptr<Condition> begins_ = std::make_unique<Condition>();
};

// As many threads as the platform has devices like the context's, where these are CPUs of one
// compute unit: PoCL's `basic`. Such a device runs what any thread launches, so that the context's
// serves all threads, and programs are built once. Null: one thread, as everywhere else.
std::unique_ptr<ClThreads> MakeClThreads(const ClContext& context);

// Where the first work-item is for such a driver: an int leaves it out, so work-items count from 0.
// PoCL 3.1 compiles a kernel once for offsets of zero and once for others, and its assertions fail
// where threads run both at once.
constexpr size_t kWrappedOrigin = sizeof(size_t) > 4 ? size_t{1} << (sizeof(size_t) * 4) : 0;

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_POCL_CL_THREADS_H_
