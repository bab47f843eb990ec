#include <poll.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "delegate_native/runtime/backend.h"

namespace quadra {

Status TooLate(const char* tried, int deadline_ms) {
  return DeviceFailed(
      "wait for %s: its event did not come within %d ms; next: look at who is to complete it",
      tried, deadline_ms);
}

Status WaitForFence(void* handle, int deadline_ms) {
  pollfd fence = {static_cast<int>(reinterpret_cast<intptr_t>(handle)), POLLIN, 0};
  int came;
  do came = poll(&fence, 1, deadline_ms);
  while (came < 0 && errno == EINTR);
  if (came == 0) return TooLate("an input", deadline_ms);
  if (came > 0 && fence.revents & POLLIN) return Status();
  return DeviceFailed("wait for an input: the file descriptor %d is no sync fence", fence.fd);
}

}  // namespace quadra
