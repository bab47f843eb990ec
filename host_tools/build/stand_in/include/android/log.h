// The two functions of Android's log that are asked for.
#pragma once
#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  ANDROID_LOG_DEBUG = 3,
  ANDROID_LOG_INFO,
  ANDROID_LOG_WARN,
  ANDROID_LOG_ERROR,
  ANDROID_LOG_FATAL
};

int __android_log_print(int priority, const char* tag, const char* format, ...)
    __attribute__((__format__(printf, 3, 4)));
int __android_log_vprint(int priority, const char* tag, const char* format, va_list arguments)
    __attribute__((__format__(printf, 3, 0)));

#ifdef __cplusplus
}
#endif
