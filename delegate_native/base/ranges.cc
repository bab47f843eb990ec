#include "delegate_native/base/ranges.h"

#include <cstdlib>

namespace quadra {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

int InRanges(const char* list, int number) {
  int found = 0;
  for (const char* at = list; *list; ++at) {
    char* end;
    if (!IsDigit(*at)) return -1;
    const long first = strtol(at, &end, 10);
    long last = first;
    if (*end == '-') {
      if (!IsDigit(end[1])) return -1;
      last = strtol(end + 1, &end, 10);
    }
    if (number >= first && number <= last) found = 1;
    if (last < first || (*end && *end != ',')) return -1;
    if (!*end) break;
    at = end;
  }
  return found;
}

}  // namespace quadra
