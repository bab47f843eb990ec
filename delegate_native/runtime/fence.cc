#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "delegate_native/base/lean/clock.h"
#include "delegate_native/runtime/backend.h"

namespace quadra {

Status TooLate(const char* tried, int deadline_ms) {
  return DeviceFailed(
      "wait for %s: its event did not come within %d ms; next: look at who is to complete it",
      tried, deadline_ms);
}

Status NoFence(int fd) {
  return DeviceFailed("wait for an input: the file descriptor %d is no sync fence", fd);
}

Status WaitForFence(void* handle, int deadline_ms) {
  pollfd fence = {static_cast<int>(reinterpret_cast<intptr_t>(handle)), POLLIN, 0};
  const int64_t until = NowUs() + int64_t{deadline_ms} * 1000;
  int came;
  do came = poll(&fence, 1, static_cast<int>(std::max<int64_t>(until - NowUs(), 0) / 1000));
  while (came < 0 && errno == EINTR);
  if (came == 0) return TooLate("an input", deadline_ms);
  if (came > 0 && fence.revents & POLLIN) return Status();
  return NoFence(fence.fd);
}

}  // namespace quadra
