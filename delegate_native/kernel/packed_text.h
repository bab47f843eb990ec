// Kernels' texts are a tenth of the library, and say the same few words again and again. So they
// are packed when they are compiled (base/packing.h).
#ifndef QUADRA_KERNEL_PACKED_TEXT_H_
#define QUADRA_KERNEL_PACKED_TEXT_H_

#include <string>

#include "delegate_native/base/packing.h"
#include "delegate_native/base/status.h"
#include "delegate_native/kernel/kernel_words.h"

namespace quadra {

// Packed texts may be joined, and filled in where they say $ or @; printf may not read them as its
// format. The text without packed words.
std::string Unpacked(const std::string& text);

// printf into a string; the format is packed.
std::string FormatPacked(const char* packed, ...);

template <typename... Arguments>
__attribute__((always_inline)) inline std::string FormatPackedOf(const char* packed,
                                                                 const char* /*format*/,
                                                                 Arguments... arguments) {
  return FormatPacked(packed, arguments...);
}

}  // namespace quadra

// TextOf("a format of printf", arguments…): a part of a kernel's text, unpacked.
#define TextOf(...)                                       \
  ((false ? ::quadra::CheckFormat(__VA_ARGS__) : void()), \
   ::quadra::FormatPackedOf(QUADRA_TEXT(QUADRA_FIRST(__VA_ARGS__, 0)), __VA_ARGS__))

#define QUADRA_TEXT(literal) QUADRA_PACKED(KernelWords, literal)

#endif  // QUADRA_KERNEL_PACKED_TEXT_H_
