// Threads, and what a driver knows, do not come along when a process forks.
#ifndef QUADRA_RUNTIME_FORK_GUARD_H_
#define QUADRA_RUNTIME_FORK_GUARD_H_

#include <unistd.h>

#include "delegate_native/base/status.h"

namespace quadra {

// The process where this was made.
class ForkGuard {
 public:
  bool is_here() const { return getpid() == process_; }
  // An error in a child that was forked since.
  Status Check(const char* api) const {
    if (is_here()) return Status();
    return DeviceFailed(
        "use %s in a forked process: its parent has used it, and a driver does not come "
        "along; next: start processes anew (Python: multiprocessing's \"spawn\")",
        api);
  }

 private:
  const pid_t process_ = getpid();
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_FORK_GUARD_H_
