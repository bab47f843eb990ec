#include "delegate_native/base/names.h"

namespace quadra {

std::string UnpackedNames(const char* packed) {
  return packing::UnpackerOf<SentenceWords>()(packed);
}

std::string NameAt(const std::string& names, int place) {
  if (place < 0) return "";
  size_t begin = 0;
  for (; place > 0 && begin < names.size(); --place) begin = names.find('\n', begin) + 1;
  return names.substr(begin, names.find('\n', begin) - begin);
}

}  // namespace quadra
