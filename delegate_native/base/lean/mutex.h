// Mutexes of the system. Those of the C++ library throw where they are misused: they would bring
// its errors, their texts and what carries exceptions into the library, 8 KB.
#ifndef QUADRA_BASE_LEAN_MUTEX_H_
#define QUADRA_BASE_LEAN_MUTEX_H_

#include <pthread.h>

namespace quadra {

class Mutex {
 public:
  Mutex() = default;
  ~Mutex() { pthread_mutex_destroy(&mutex_); }
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void Lock() { pthread_mutex_lock(&mutex_); }
  void Unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  friend class Condition;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

// Holds a mutex as long as it lives.
class MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~MutexLock() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

class Condition {
 public:
  Condition() = default;
  ~Condition() { pthread_cond_destroy(&condition_); }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;
  void NotifyAll() { pthread_cond_broadcast(&condition_); }

  // Waits until `is_met`; the caller holds the mutex, which is free meanwhile.
  template <typename IsMet>
  void Wait(Mutex* mutex, IsMet is_met) {
    while (!is_met()) pthread_cond_wait(&condition_, &mutex->mutex_);
  }

 private:
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

}  // namespace quadra

#endif  // QUADRA_BASE_LEAN_MUTEX_H_
