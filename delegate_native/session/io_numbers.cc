#include "delegate_native/session/io_numbers.h"

#include <utility>

namespace quadra {
namespace {

template <typename T>
void Copy(const std::vector<int32_t>& from, void* to) {
  T* numbers = static_cast<T*>(to);
  for (size_t i = 0; i < from.size(); ++i) numbers[i] = static_cast<T>(from[i]);
}

}  // namespace

Status Widen(const void* from, const Value& value, std::vector<int32_t>* to) {
  const size_t count = static_cast<size_t>(value.shape.elements());
  const Constant numbers(from, value.element, /*half=*/false, count);
  if (!numbers.fits_ints()) {
    return Unsupported("input '%s' holds an int64 beyond 32 bits, which GPUs have no type for",
                       value.name.c_str());
  }
  *to = numbers.ints();
  return Status();
}

void Narrow(const std::vector<int32_t>& from, Element element, void* to) {
  switch (element) {
    case Element::kInt64: return Copy<int64_t>(from, to);
    case Element::kInt8: return Copy<int8_t>(from, to);
    case Element::kInt16: return Copy<int16_t>(from, to);
    default: return Copy<uint8_t>(from, to);
  }
}

}  // namespace quadra
