// A thread that does what it is given, one thing after another. OpenGL ES binds a context to a
// thread: with this one, any thread may make, run and destroy what belongs to the context.
#ifndef QUADRA_RUNTIME_GLES_GL_THREAD_H_
#define QUADRA_RUNTIME_GLES_GL_THREAD_H_

#include <pthread.h>

#include "delegate_native/base/lean/mutex.h"
#include "delegate_native/base/status.h"
#include "delegate_native/runtime/fork_guard.h"

namespace quadra {

class GlThread {
 public:
  GlThread();
  ~GlThread();
  GlThread(const GlThread&) = delete;
  GlThread& operator=(const GlThread&) = delete;

  // Has `job` (which returns a Status) done and waits for it. Any thread but this one. An error
  // where there is no such thread: see is_here().
  template <typename Job>
  Status Do(Job job) {
    return Wait([](void* it) { return (*static_cast<Job*>(it))(); }, &job);
  }

  // False in a child that was forked since: what belongs to the thread cannot even be destroyed
  // there.
  bool is_here() const { return home_.is_here(); }

 private:
  using Call = Status (*)(void*);
  Status Wait(Call call, void* job);
  void Work();

  const ForkGuard home_;
  Mutex callers_;  // one caller at a time
  Mutex mutex_;
  Condition changed_;
  Call call_ = nullptr;  // what is to be done, until it is done
  void* job_ = nullptr;
  Status result_;
  bool stop_ = false;
  pthread_t thread_{};
  int refused_ = 0;  // why there is no thread
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_GLES_GL_THREAD_H_
