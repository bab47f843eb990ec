// A thread that does what it is given, one thing after another. OpenGL ES binds a context to a
// thread: with this one, any thread may make, run and destroy what belongs to the context.
#ifndef QUADRA_RUNTIME_GLES_GL_THREAD_H_
#define QUADRA_RUNTIME_GLES_GL_THREAD_H_

#include <condition_variable>
#include <mutex>
#include <thread>

#include "delegate_native/base/status.h"

namespace quadra {

class GlThread {
 public:
  GlThread() : thread_([this] { Work(); }) {}
  ~GlThread();
  GlThread(const GlThread&) = delete;
  GlThread& operator=(const GlThread&) = delete;

  // Has `job` (which returns a Status) done and waits for it. Any thread but this one.
  template <typename Job>
  Status Do(Job job) {
    return Wait([](void* it) { return (*static_cast<Job*>(it))(); }, &job);
  }

 private:
  using Call = Status (*)(void*);
  Status Wait(Call call, void* job);
  void Work();

  std::mutex callers_;  // one caller at a time
  std::mutex mutex_;
  std::condition_variable changed_;
  Call call_ = nullptr;  // what is to be done, until it is done
  void* job_ = nullptr;
  Status result_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_GLES_GL_THREAD_H_
