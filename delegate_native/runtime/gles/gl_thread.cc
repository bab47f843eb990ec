#include "delegate_native/runtime/gles/gl_thread.h"

#include <signal.h>

#include <cstring>
#include <utility>

namespace quadra {
namespace {

// Signals are the application's, and so are the threads that take them: ours takes only those that
// it causes itself.
void BlockSignals(sigset_t* before) {
  sigset_t all;
  sigfillset(&all);
  for (int own : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP}) sigdelset(&all, own);
  pthread_sigmask(SIG_SETMASK, &all, before);
}

}  // namespace

GlThread::GlThread() {
  sigset_t before;
  BlockSignals(&before);
  const auto work = [](void* self) -> void* {
    static_cast<GlThread*>(self)->Work();
    return nullptr;
  };
  refused_ = pthread_create(&thread_, nullptr, work, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (refused_ == 0) pthread_setname_np(thread_, "quadra-gles");
}

GlThread::~GlThread() {
  if (refused_ != 0) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  pthread_join(thread_, nullptr);
}

Status GlThread::Wait(Call call, void* job) {
  if (refused_ != 0) {
    return DeviceFailed("start a thread for OpenGL ES: %s; next: end threads that are not needed",
                        strerror(refused_));
  }
  QUADRA_RETURN_IF_ERROR(home_.Check("OpenGL ES"));
  std::lock_guard<std::mutex> turn(callers_);
  std::unique_lock<std::mutex> lock(mutex_);
  call_ = call;
  job_ = job;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !call_; });
  return std::move(result_);
}

void GlThread::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return call_ || stop_; });
    if (!call_) return;
    lock.unlock();
    Status result = call_(job_);
    lock.lock();
    result_ = std::move(result);
    call_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace quadra
