#include "delegate_native/runtime/gles/gl_thread.h"

#include <utility>

namespace quadra {

GlThread::~GlThread() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Status GlThread::Wait(Call call, void* job) {
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
