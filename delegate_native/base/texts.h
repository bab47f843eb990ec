// Kernels' texts, messages and lists of names say the same few words again and again. So they lie
// packed in the library, all together, and are unpacked once, when it is loaded. A text is a
// symbol, named by a hash of it. bazel/pack_texts.py finds the texts in the sources and defines
// these symbols: whoever links this library's code links //delegate_native/base:texts with it.
#ifndef QUADRA_BASE_TEXTS_H_
#define QUADRA_BASE_TEXTS_H_

#include <cstdint>

namespace quadra {

// FNV-1a.
constexpr uint32_t TextHash(const char* text) {
  uint32_t hash = 0x811c9dc5;
  for (; *text; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x01000193;
  return hash;
}

template <uint32_t hash>
struct LibraryText {
  static const char kText[];
};

}  // namespace quadra

// The literal, as a const char* that is known when the library is linked.
#define QUADRA_TEXT(literal) (::quadra::LibraryText<::quadra::TextHash(literal)>::kText)

#endif  // QUADRA_BASE_TEXTS_H_
