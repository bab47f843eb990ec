#include "delegate_native/kernel/packed_text.h"

#include <cstdarg>

namespace quadra {

std::string Unpacked(const std::string& text) { return packing::UnpackerOf<KernelWords>()(text); }

std::string FormatPacked(const char* packed, ...) {
  va_list arguments;
  va_start(arguments, packed);
  std::string text = FormatList(Unpacked(packed).c_str(), arguments);
  va_end(arguments);
  return text;
}

}  // namespace quadra
