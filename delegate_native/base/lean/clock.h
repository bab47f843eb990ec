#ifndef QUADRA_BASE_LEAN_CLOCK_H_
#define QUADRA_BASE_LEAN_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace quadra {

// Microseconds of a clock. Not <chrono>: it brings the C++ library's error classes along, 5 KB.
inline int64_t ClockUs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000 + now.tv_nsec / 1000;
}

inline int64_t NowUs() { return ClockUs(CLOCK_MONOTONIC); }  // never goes back
// The monotonic clock, which is also Java's System.nanoTime and Python's time.perf_counter_ns.
inline int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}
inline int64_t ProcessCpuUs() { return ClockUs(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace quadra

#endif  // QUADRA_BASE_LEAN_CLOCK_H_
