// Faults of a virtual device's GPU, planted between an app and the driver. BIONIC_GPU_SLOW=1.1: each
// kernel takes 1.1 times as long, by computing. BIONIC_GPU_WRONG=1.25: the first kernel that the
// delegate gives to the compiler stores 1.25 times of what it computes.
#ifndef QUADRA_PLANTED_H
#define QUADRA_PLANTED_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// 0 where the variable is not set.
static double planted(const char *variable) {
  const char *text = getenv(variable);
  return text ? atof(text) : 0.0;
}

// Of the processor, where the driver computes in the thread that asks: a kernel that had to wait for
// others did not take longer for that.
static double now_s(void) {
  const char *threads = getenv("LP_NUM_THREADS");
  struct timespec time;
  clock_gettime(threads && !strcmp(threads, "0") ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void busy_until(double end_s) {
  while (now_s() < end_s) continue;
}

// A copy of `text`, of *size bytes, in which a kernel stores another value; NULL where there is none
// that could. Quadra's kernels store by the macro write_dst.
static char *with_wrong_kernel(const char *text, size_t *size, double factor) {
  static const char define[] = "#define write_dst(VALUE", value[] = "vec4 e_v = (VALUE)";
  const char *at = text;
  while ((at = strstr(at, define))) {
    const char *line_end = strchr(at, '\n'), *undef = strstr(at, "#undef write_dst\n");
    const char *used = line_end ? strstr(line_end, "write_dst(") : NULL, *place = strstr(at, value);
    at += sizeof define;
    if (!used || (undef && used > undef) || !place || place > line_end || place[-1] != ' ') continue;
    const size_t head = (size_t)(place + sizeof value - 1 - text);
    char *changed = malloc(*size + 64);
    if (!changed) return NULL;
    memcpy(changed, text, head);
    const int more = sprintf(changed + head, " * vec4(%.6ff)", factor);
    memcpy(changed + head + more, text + head, *size - head + 1);
    *size += (size_t)more;
    return changed;
  }
  return NULL;
}

#endif
