#include "delegate_native/base/names.h"

namespace quadra {

std::string NameAt(const char* packed, int place) {
  if (place < 0) return "";
  const std::string names = packing::UnpackerOf<SentenceWords>()(packed);
  size_t begin = 0;
  for (; place > 0 && begin < names.size(); --place) begin = names.find('\n', begin) + 1;
  return names.substr(begin, names.find('\n', begin) - begin);
}

}  // namespace quadra
