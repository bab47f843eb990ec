#include "delegate_native/graph/constant.h"

#include <cstring>
#include <utility>

#include "delegate_native/base/half.h"

namespace quadra {

float Constant::at(size_t i) const {
  if (own_) return (*own_)[i];
  const char* bytes = static_cast<const char*>(bytes_);
  if (type_ == Type::kFloat32) {
    float number;
    memcpy(&number, bytes + i * sizeof(number), sizeof(number));
    return number;
  }
  uint16_t half;
  memcpy(&half, bytes + i * sizeof(half), sizeof(half));
  return HalfToFloat(half);
}

float Constant::front() const { return at(0); }

SharedFloats Constant::floats() const {
  if (own_) return own_;
  std::vector<float> floats(size_);
  if (type_ == Type::kFloat32) {
    memcpy(floats.data(), bytes_, size_ * sizeof(float));
  } else {
    for (size_t i = 0; i < size_; ++i) floats[i] = at(i);
  }
  return Share(std::move(floats));
}

}  // namespace quadra
