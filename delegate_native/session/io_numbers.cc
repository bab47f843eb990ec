#include "delegate_native/session/io_numbers.h"

#include <utility>

#include "delegate_native/graph/constant.h"

namespace quadra {
namespace {

template <typename T>
void Copy(const std::vector<int32_t>& from, void* to) {
  T* numbers = static_cast<T*>(to);
  for (size_t i = 0; i < from.size(); ++i) numbers[i] = static_cast<T>(from[i]);
}

}  // namespace

bool Widen(const void* from, const Port& port, std::vector<int32_t>* to) {
  const size_t count = static_cast<size_t>(port.shape.elements());
  const Constant numbers(from, port.element, /*half=*/false, count);
  if (!numbers.fits_ints()) return false;
  *to = numbers.ints();
  return true;
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
