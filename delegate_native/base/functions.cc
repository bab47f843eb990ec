#include "delegate_native/base/functions.h"

#include <cstring>

#include "delegate_native/base/names.h"

namespace quadra {

std::string FindFunctions(const Function<void*(const char* name)>& find, const char* names,
                          void* pointers) {
  std::string missing;
  char* to = static_cast<char*>(pointers);
  for (; *names; to += sizeof(void*)) {
    const std::string name = NameAt(names, 0);
    names += name.size() + 1;
    void* const found = find(name.c_str());
    memcpy(to, static_cast<const void*>(&found), sizeof(found));
    if (found) continue;
    if (!missing.empty()) missing += ", ";
    missing += name;
  }
  return missing;
}

}  // namespace quadra
