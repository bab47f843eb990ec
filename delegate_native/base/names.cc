#include "delegate_native/base/names.h"

#include <cstring>

namespace quadra {

std::string NameAt(const char* names, int place) {
  if (place < 0) return "";
  for (; place > 0 && *names; --place) names = strchr(names, '\n') + 1;
  return std::string(names, strcspn(names, "\n"));
}

}  // namespace quadra
