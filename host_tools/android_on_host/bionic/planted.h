// Faults of a virtual device's GPU, planted between an app and the driver. BIONIC_GPU_SLOW=1.1:
// each kernel takes 1.1 times as long, by computing. BIONIC_GPU_WRONG=1.25: the first kernel that
// the delegate gives to the compiler stores 1.25 times of what it computes.
#ifndef QUADRA_PLANTED_H
#define QUADRA_PLANTED_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// 0 where the variable is not set.
static double planted(const char* variable) {
  const char* text = getenv(variable);
  return text ? atof(text) : 0.0;
}

// Where drivers compute in the thread that launches (host_tools/base/cpu_drivers.py), its processor
// time: else a busy machine would have a kernel that waited for its turn wait in vain once more.
static double now_s(void) {
  static int clock = -1;
  if (clock < 0) {
    const char* threads = getenv("LP_NUM_THREADS");
    clock = threads && !strcmp(threads, "0") ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  }
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// What a kernel took since `from_s` is owed (factor - 1) times. It is waited for when enough has
// come together: kernels of a few us would wait too long else. What asking the clock takes is paid
// with.
static void wait_longer(double factor, double from_s) {
  static _Thread_local double owed_s, clock_s;
  if (clock_s == 0.0) {
    const double start_s = now_s();
    for (int i = 0; i < 999; ++i) now_s();
    clock_s = (now_s() - start_s) / 1000.0;
  }
  const double end_s = now_s();
  owed_s += (factor - 1.0) * (end_s - from_s - clock_s) - 2.0 * clock_s;
  if (owed_s < 20e-6) return;
  while (now_s() < end_s + owed_s) continue;
  owed_s = 0.0;
}

// A copy of `text`, of *size bytes, in which a kernel stores another value; NULL where there is
// none that could. Quadra's kernels store by the macro write_dst.
static char* with_wrong_kernel(const char* text, size_t* size, double factor) {
  static const char define[] = "#define write_dst(VALUE", value[] = "vec4 e_v = (VALUE)";
  const char* at = text;
  while ((at = strstr(at, define))) {
    const char *line_end = strchr(at, '\n'), *undef = strstr(at, "#undef write_dst\n");
    const char *used = line_end ? strstr(line_end, "write_dst(") : NULL, *place = strstr(at, value);
    at += sizeof define;
    if (!used || (undef && used > undef) || !place || place > line_end || place[-1] != ' ')
      continue;
    const size_t head = (size_t)(place + sizeof value - 1 - text);
    char* changed = malloc(*size + 64);
    if (!changed) return NULL;
    memcpy(changed, text, head);
    const int more = sprintf(changed + head, " * %.6ff", factor);
    memcpy(changed + head + more, text + head, *size - head + 1);
    *size += (size_t)more;
    return changed;
  }
  return NULL;
}

#endif
