#include "delegate_native/base/lean/thread.h"

#include <signal.h>

#include <initializer_list>

namespace quadra {

int StartThread(const char* name, void* (*work)(void*), void* argument, pthread_t* thread) {
  sigset_t ours, before;
  sigfillset(&ours);
  // A thread takes only those that it causes itself.
  for (int own : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP}) sigdelset(&ours, own);
  pthread_sigmask(SIG_SETMASK, &ours, &before);
  const int refused = pthread_create(thread, nullptr, work, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (refused == 0) pthread_setname_np(*thread, name);
  return refused;
}

}  // namespace quadra
