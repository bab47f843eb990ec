#include "delegate_native/base/functions.h"

#include <cstring>

namespace quadra {

std::string FindFunctions(const Function<void*(const char* name)>& find, const char* names,
                          void* pointers) {
  std::string missing;
  char* to = static_cast<char*>(pointers);
  for (const char* name = names; *name; name += strlen(name) + 1, to += sizeof(void*)) {
    void* const found = find(name);
    memcpy(to, static_cast<const void*>(&found), sizeof(found));
    if (found) continue;
    if (!missing.empty()) missing += ", ";
    missing += name;
  }
  return missing;
}

}  // namespace quadra
