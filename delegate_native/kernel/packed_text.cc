#include "delegate_native/kernel/packed_text.h"

#include <cstring>

namespace quadra {

std::string Unpacked(const std::string& text) {
  const char* begin[packing::kMostWords];
  int count = 0;
  for (const char* c = packing::kWords; *c; c += *c == '|') {
    begin[count++] = c;
    c += strcspn(c, "|");
  }
  std::string unpacked;
  for (char c : text) {
    const int word = static_cast<unsigned char>(c) - 128;
    if (word < 0) unpacked += c;
    else if (word < count) unpacked.append(begin[word], strcspn(begin[word], "|"));
  }
  return unpacked;
}

}  // namespace quadra
