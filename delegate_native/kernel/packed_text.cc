#include "delegate_native/kernel/packed_text.h"

namespace quadra {

std::string Unpacked(const std::string& text) { return packing::UnpackerOf<KernelWords>()(text); }

}  // namespace quadra
