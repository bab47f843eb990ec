#include "delegate_native/base/log.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>

#ifdef __ANDROID__
#include <android/log.h>
#endif

namespace quadra {
namespace {

std::atomic<int> g_level{0};

}  // namespace

void SetLogLevel(int level) { g_level = level; }

bool LogEnabled(int level) { return level <= g_level; }

void Log(int level, const char* format, ...) {
  if (!LogEnabled(level)) return;
  va_list arguments;
  va_start(arguments, format);
#ifdef __ANDROID__
  __android_log_vprint(ANDROID_LOG_INFO, "quadra", format, arguments);
#else
  fputs("quadra: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
#endif
  va_end(arguments);
}

}  // namespace quadra
