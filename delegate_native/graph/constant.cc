#include "delegate_native/graph/constant.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "delegate_native/base/file_pages.h"
#include "delegate_native/base/half.h"

namespace quadra {
namespace {

template <typename T>
T Read(const void* bytes, size_t i) {
  T number;
  memcpy(&number, static_cast<const char*>(bytes) + i * sizeof(number), sizeof(number));
  return number;
}

}  // namespace

float Constant::at(size_t i) const {
  if (own_) return (*own_)[i];
  if (scales_.scales) {
    const size_t place = i / scales_.stride % scales_.scales->size();
    return static_cast<float>(whole_at(i) - zero_of(place)) * scales_.scales->at(place);
  }
  return half_ ? HalfToFloat(Read<uint16_t>(bytes_, i)) : Read<float>(bytes_, i);
}

int64_t Constant::zero_of(size_t place) const {
  const Constant* const zeros = scales_.zero_points.get();
  return zeros ? zeros->whole_at(zeros->size() > 1 ? place : 0) : 0;
}

size_t Constant::bits_of_each() const {
  return bits_ > 0            ? static_cast<size_t>(bits_)
         : !IsFloat(element_) ? BytesOf(element_) * 8
         : half_              ? 16
                              : 32;
}

void Constant::GiveBack() const {
  if (bytes_) GiveFilePagesBack(bytes_, stored_bytes());
  if (scales_.scales) scales_.scales->GiveBack();
}

std::vector<int32_t> Constant::SignedWords(size_t first, size_t count) const {
  std::vector<int32_t> words(count, 0);
  const char* const from = static_cast<const char*>(bytes_) + first * sizeof(words[0]);
  const size_t bytes =
      std::min(count * sizeof(words[0]), stored_bytes() - first * sizeof(words[0]));
  memcpy(words.data(), from, bytes);
  GiveFilePagesBack(from, bytes);
  if (Shift() == 0) return words;
  for (int32_t& word : words) word ^= static_cast<int32_t>(0x80808080);
  return words;
}

SharedFloats Constant::floats() const {
  if (own_) return own_;
  std::vector<float> floats(size_);
  const size_t places = scales_.scales ? scales_.scales->size() : 0;
  if (places == 0) {
    for (size_t i = 0; i < size_; ++i) floats[i] = at(i);
  }
  const size_t run = places > 1 ? scales_.stride : size_;  // they have one scale
  for (size_t i = 0, place = 0; places > 0 && i < size_; place = (place + 1) % places) {
    const float scale = scales_.scales->at(place);
    const int64_t zero = zero_of(place);
    for (const size_t end = std::min(i + run, size_); i < end; ++i) {
      floats[i] = static_cast<float>(whole_at(i) - zero) * scale;
    }
  }
  GiveBack();
  return Share(std::move(floats));
}

int64_t Constant::whole_at(size_t i) const {
  if (!bytes_) return own_ints_[i];
  if (bits_ < 8 && bits_ > 0) {
    const size_t bit = i * static_cast<size_t>(bits_);
    const int byte = Read<int8_t>(bytes_, bit / 8) >> bit % 8;
    const int sign = 1 << (bits_ - 1);
    return ((byte & (2 * sign - 1)) ^ sign) - sign;
  }
  switch (IsFloat(element_) ? stored_ : element_) {
    case Element::kInt32: return Read<int32_t>(bytes_, i);
    case Element::kInt64: return Read<int64_t>(bytes_, i);
    case Element::kInt8: return Read<int8_t>(bytes_, i);
    case Element::kInt16: return Read<int16_t>(bytes_, i);
    case Element::kBool: return Read<uint8_t>(bytes_, i) != 0;
    default: return Read<uint8_t>(bytes_, i);
  }
}

void Constant::AddTo(ContentHash* hash, ConstantHashes* known) const {
  hash->Add(static_cast<int64_t>(element_));
  hash->Add(static_cast<int64_t>(stored_) * 2 + half_);
  for (const ConstantData& of_places : {scales_.scales, scales_.zero_points}) {
    hash->Add(static_cast<int64_t>(of_places ? of_places->size() : 0));
    if (of_places) of_places->AddTo(hash, known);
  }
  hash->Add(static_cast<int64_t>(scales_.stride));
  if (own_) return hash->Add(own_->data(), size_ * sizeof(float));
  if (!bytes_) return hash->Add(own_ints_.data(), size_ * sizeof(int32_t));
  hash->Add(static_cast<int64_t>(bits_of_each()));
  if (known) known->Add(bytes_, stored_bytes(), hash);
  else HashFilePages(bytes_, stored_bytes(), hash);
}

std::vector<int32_t> Constant::ints() const {
  std::vector<int32_t> ints(size_);
  for (size_t i = 0; i < size_; ++i) {
    ints[i] = static_cast<int32_t>(
        std::min<int64_t>(std::max<int64_t>(whole_at(i), INT32_MIN), INT32_MAX));
  }
  GiveBack();
  return ints;
}

std::vector<int32_t> Constant::words(bool upper) const {
  std::vector<int32_t> words(size_);
  for (size_t i = 0; i < size_; ++i) {
    words[i] = static_cast<int32_t>(whole_at(i) >> (upper ? 32 : 0));
  }
  return words;
}

ConstantData Picked(const Constant& from, const std::vector<int>& places) {
  const auto pick = [&places](const auto& numbers, auto* picked) {
    for (int place : places) picked->push_back(numbers[static_cast<size_t>(place)]);
  };
  if (IsFloat(from.element())) {
    std::vector<float> picked;
    pick(*from.floats(), &picked);
    return std::make_shared<const Constant>(std::move(picked));
  }
  std::vector<int32_t> picked;
  pick(from.ints(), &picked);
  return std::make_shared<const Constant>(from.element(), std::move(picked));
}

bool Constant::fits_ints() const {
  for (size_t i = 0; element_ == Element::kInt64 && i < size_; ++i) {
    if (whole_at(i) != static_cast<int32_t>(whole_at(i))) return false;
  }
  return true;
}

}  // namespace quadra
