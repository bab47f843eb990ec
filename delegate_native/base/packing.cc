#include "delegate_native/base/packing.h"

#include <cstring>

namespace quadra {
namespace packing {

Unpacker::Unpacker(const char* words, int count) : count_(count) {
  for (int i = 0; i < count; ++i, words += strlen(words) + 1) begin_[i] = words;
}

void Unpacker::Append(const char* packed, std::string* text) const {
  while (*packed) {
    int word = static_cast<unsigned char>(*packed++);
    if (word > 8 && word < 128) {
      text->push_back(static_cast<char>(word));
      continue;
    }
    if (word >= 128) {
      word -= 128;
    } else {
      const int second = static_cast<unsigned char>(*packed++);
      if (second < 128) return;  // no packed text: it may have ended here
      word = word * 128 + second - 128;
    }
    if (word >= count_) return;
    Append(begin_[word], text);
  }
}

std::string Unpacker::operator()(const std::string& packed) const {
  std::string text;
  Append(packed.c_str(), &text);
  return text;
}

}  // namespace packing
}  // namespace quadra
