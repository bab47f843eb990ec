#include "delegate_native/runtime/gles/gl_thread.h"

#include <cstring>
#include <utility>

#include "delegate_native/base/lean/thread.h"

namespace quadra {
GlThread::GlThread() {
  const auto work = [](void* self) -> void* {
    static_cast<GlThread*>(self)->Work();
    return nullptr;
  };
  refused_ = StartThread("quadra-gles", work, this, &thread_);
}

GlThread::~GlThread() {
  if (refused_ != 0) return;
  {
    const MutexLock lock(&mutex_);
    stop_ = true;
  }
  changed_.NotifyAll();
  pthread_join(thread_, nullptr);
}

Status GlThread::Wait(Call call, void* job) {
  if (refused_ != 0) {
    return DeviceFailed("start a thread for OpenGL ES: %s; next: end threads that are not needed",
                        strerror(refused_));
  }
  QUADRA_RETURN_IF_ERROR(home_.Check("OpenGL ES"));
  const MutexLock turn(&callers_);
  const MutexLock lock(&mutex_);
  call_ = call;
  job_ = job;
  changed_.NotifyAll();
  changed_.Wait(&mutex_, [this] { return !call_; });
  return std::move(result_);
}

void GlThread::Work() {
  const MutexLock lock(&mutex_);
  for (;;) {
    changed_.Wait(&mutex_, [this] { return call_ || stop_; });
    if (!call_) return;
    mutex_.Unlock();
    Status result = call_(job_);
    mutex_.Lock();
    result_ = std::move(result);
    call_ = nullptr;
    changed_.NotifyAll();
  }
}

}  // namespace quadra
