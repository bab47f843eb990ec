// Kernels' texts are a tenth of the library, and say the same few words again and again. So they
// are packed when they are compiled (base/packing.h).
#ifndef QUADRA_KERNEL_PACKED_TEXT_H_
#define QUADRA_KERNEL_PACKED_TEXT_H_

#include <string>

#include "delegate_native/base/packing.h"
#include "delegate_native/kernel/kernel_words.h"

namespace quadra {

// Packed texts may be joined, and filled in where they say $ or @; printf may not read them as its
// format. The text without packed words.
std::string Unpacked(const std::string& text);

}  // namespace quadra

#define QUADRA_TEXT(literal) QUADRA_PACKED(KernelWords, literal)

#endif  // QUADRA_KERNEL_PACKED_TEXT_H_
