// Threads of our own inside an application: a library without exceptions cannot use std::thread,
// which ends the process where the system has no thread left.
#ifndef QUADRA_BASE_LEAN_THREAD_H_
#define QUADRA_BASE_LEAN_THREAD_H_

#include <pthread.h>

namespace quadra {

// Starts a thread that leaves the application's signals to the application's threads. 0, or
// pthread_create's error. Join it.
int StartThread(const char* name, void* (*work)(void*), void* argument, pthread_t* thread);

}  // namespace quadra

#endif  // QUADRA_BASE_LEAN_THREAD_H_
