#include "delegate_native/session/io_numbers.h"

#include <algorithm>
#include <cstring>

#include "delegate_native/base/half.h"

namespace quadra {
namespace {

// A plan's floats, in the place of an int32, and the interpreter's.
struct Float {
  float number;
};
struct Half {
  uint16_t bits;
  explicit operator Float() const { return {HalfToFloat(bits)}; }
  Half() = default;
  explicit Half(const Float& from) : bits(FloatToHalf(from.number)) {}
};

// One loop for each pair of types: an image has a hundred thousand numbers.
template <typename To, typename From>
void Copy(const void* from, size_t count, void* to) {
  for (size_t i = 0; i < count; ++i) {
    From number;
    memcpy(&number, static_cast<const char*>(from) + i * sizeof(number), sizeof(number));
    if constexpr (sizeof(From) > sizeof(int32_t)) {
      number = std::min<From>(std::max<From>(number, INT32_MIN), INT32_MAX);
    }
    const To copy = static_cast<To>(number);  // NOLINT(bugprone-signed-char-misuse): signs stay
    memcpy(static_cast<char*>(to) + i * sizeof(copy), &copy, sizeof(copy));
  }
}

}  // namespace

void Widen(const void* from, const IoTensor& port, std::vector<int32_t>* to) {
  const size_t count = static_cast<size_t>(port.shape.elements());
  to->resize(count);
  switch (port.element) {
    case Element::kInt64: Copy<int32_t, int64_t>(from, count, to->data()); break;
    case Element::kInt8: Copy<int32_t, int8_t>(from, count, to->data()); break;
    case Element::kInt16: Copy<int32_t, int16_t>(from, count, to->data()); break;
    case Element::kFloat16: Copy<Float, Half>(from, count, to->data()); break;
    default: Copy<int32_t, uint8_t>(from, count, to->data());
  }
  if (port.element == Element::kBool) {
    for (int32_t& number : *to) number = number != 0;
  }
}

void Narrow(const std::vector<int32_t>& from, Element element, void* to) {
  switch (element) {
    case Element::kInt64: return Copy<int64_t, int32_t>(from.data(), from.size(), to);
    case Element::kInt8: return Copy<int8_t, int32_t>(from.data(), from.size(), to);
    case Element::kInt16: return Copy<int16_t, int32_t>(from.data(), from.size(), to);
    case Element::kFloat16: return Copy<Half, Float>(from.data(), from.size(), to);
    default: return Copy<uint8_t, int32_t>(from.data(), from.size(), to);
  }
}

}  // namespace quadra
