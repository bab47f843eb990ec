// Messages on stderr (logcat on Android), shown up to the level of the `debug` option:
// 1 device and options, 2 timings and cache, 3 passes, 4 sources, 5 graph and plan.
#ifndef QUADRA_BASE_LOG_H_
#define QUADRA_BASE_LOG_H_

namespace quadra {

void SetLogLevel(int level);
bool LogEnabled(int level);
void Log(int level, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace quadra

#endif  // QUADRA_BASE_LOG_H_
