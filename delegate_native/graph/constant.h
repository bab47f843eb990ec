// Numbers that are known when the model is loaded: a view of the model's bytes, which live as long
// as its interpreter, or numbers of our own. Floats are made of them when somebody asks, and go
// when the last who asked lets them go, so that weights do not lie in memory twice. Nor do the
// pages of a model's file stay when all numbers of a constant were read.
#ifndef QUADRA_GRAPH_CONSTANT_H_
#define QUADRA_GRAPH_CONSTANT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "delegate_native/base/content_hash.h"
#include "delegate_native/base/element.h"
#include "delegate_native/base/known_hashes.h"

namespace quadra {

using SharedFloats = std::shared_ptr<const std::vector<float>>;
inline SharedFloats Share(std::vector<float> floats) {
  return std::make_shared<const std::vector<float>>(std::move(floats));
}

class Constant;
using ConstantData = std::shared_ptr<const Constant>;

// How stored integers stand for floats: (stored - zero_point) * scale, along one axis perhaps with
// numbers of their own for each place. These lie where the model has them, too: the scales of small
// blocks are a tenth of a file, and each signature would have floats of its own.
struct Scales {
  ConstantData scales;
  ConstantData zero_points;  // as many, or one; null: all are 0
  size_t stride = 1;         // of the axis: elements between one place and the next
};

class Constant {
 public:
  explicit Constant(std::vector<float> floats)
      : own_(Share(std::move(floats))), size_(own_->size()) {}
  Constant(Element element, std::vector<int32_t> ints)
      : own_ints_(std::move(ints)), element_(element), size_(own_ints_.size()) {}
  // `bytes` must outlive this; they may lie at any address. `half`: floats of 16 bits.
  Constant(const void* bytes, Element element, bool half, size_t size)
      : bytes_(bytes), element_(element), half_(half), size_(size) {}
  // Floats that are stored as integers of the element; of `bits` each: of less than 8, several lie
  // in a byte, the first in its lowest bits.
  Constant(const void* bytes, Element stored, int bits, Scales scales, size_t size)
      : bytes_(bytes), stored_(stored), bits_(bits), scales_(std::move(scales)), size_(size) {}

  Element element() const { return element_; }
  size_t size() const { return size_; }
  // Bits of the integers that floats are stored as, 8 or less; else 0.
  int stored_bits() const { return bits_ <= 8 ? bits_ : 0; }
  const Scales& scales() const { return scales_; }
  // Whether floats lie as halfs in the file.
  bool stored_as_halfs() const { return half_; }
  // These integers as they lie in the file, in words of 32 bits, from the word `first` on. They are
  // signed here: those of uint8 less 128, and so are their zero points. Or two halfs to a word.
  std::vector<int32_t> SignedWords(size_t first, size_t count) const;
  // Some function has read all numbers.
  void GiveBack() const;
  int signed_zero(size_t place) const { return static_cast<int>(zero_of(place)) - Shift(); }
  // The numbers of a float32 constant.
  SharedFloats floats() const;
  float front() const { return at(0); }
  float at(size_t i) const;  // one of them
  // The numbers of other constants; an int64 beyond 32 bits is the nearest int32.
  std::vector<int32_t> ints() const;
  // The lower or the upper 32 bits of each of these, as an int64.
  std::vector<int32_t> words(bool upper) const;
  // Hashes the stored bytes, without making numbers of them; `known` has hashes of large ones.
  void AddTo(ContentHash* hash, ConstantHashes* known = nullptr) const;
  // Whether ints() gives every number as it is.
  bool fits_ints() const;

 private:
  int64_t zero_of(size_t place) const;
  int Shift() const { return stored_ == Element::kUInt8 ? 128 : 0; }
  int64_t whole_at(size_t i) const;
  size_t bits_of_each() const;  // of those in `bytes_`
  size_t stored_bytes() const { return (size_ * bits_of_each() + 7) / 8; }

  SharedFloats own_;
  std::vector<int32_t> own_ints_;
  const void* bytes_ = nullptr;
  Element element_ = Element::kFloat32;
  bool half_ = false;
  Element stored_ = Element::kFloat32;  // of a float that is stored as an integer
  int bits_ = 0;                        // of each of these
  Scales scales_;
  size_t size_ = 0;
};

// The numbers at these places, one after the other.
ConstantData Picked(const Constant& from, const std::vector<int>& places);

}  // namespace quadra

#endif  // QUADRA_GRAPH_CONSTANT_H_
