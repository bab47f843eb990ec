#ifndef QUADRA_BASE_CLOCK_H_
#define QUADRA_BASE_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace quadra {

// Microseconds of a clock that never goes back.
inline int64_t NowUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace quadra

#endif  // QUADRA_BASE_CLOCK_H_
