// Unpacks the library's texts (texts.h): LZMA, its stream alone, with the settings of
// bazel/pack_texts.py. What is read was made with the library, so nothing is checked.
#include <cstdint>

extern "C" {
extern const uint8_t quadra_packed_texts[];
extern char quadra_texts[];
extern char quadra_texts_end[];
void quadra_unpack_texts();
}

namespace quadra {
namespace {

constexpr int kContextBits = 3;  // of the byte before a literal: `lc`
constexpr int kStates = 12;      // what the last few steps were
constexpr int kFirstAfterMatch = 7;

// By how much the chance that a bit is 0 is more than half, of 2^11.
using Chance = int16_t;
constexpr int kOne = 1 << 11, kHalf = kOne / 2;

// How long a copy is, less its least length.
struct Lengths {
  Chance is_longer, is_longest;
  Chance of_short[1 << 3], of_longer[1 << 3], of_longest[1 << 8];
};

class Unpacker {
 public:
  void Run() {
    while (to_ < quadra_texts_end) {
      if (!Bit(&is_copy_[state_])) {
        AddLiteral();
      } else {
        Copy(Bit(&is_known_[state_]) ? ReadKnownCopy() : ReadCopy());
      }
    }
  }

 private:
  // A byte of input for each that the interval lost.
  void Refill() {
    if (range_ >= 1u << 24) return;
    range_ <<= 8;
    code_ = code_ << 8 | *from_++;
  }

  unsigned Bit(Chance* chance) {
    const uint32_t zeros = (range_ >> 11) * static_cast<uint32_t>(kHalf + *chance);
    const bool bit = code_ >= zeros;
    if (bit) {
      range_ -= zeros;
      code_ -= zeros;
    } else {
      range_ = zeros;
    }
    const int goal = bit ? 31 - kHalf : kOne - kHalf;  // 31: the shift rounds down
    *chance = static_cast<Chance>(*chance + ((goal - *chance) >> 5));
    Refill();
    return bit;
  }

  // Bits of even chances.
  unsigned EvenBits(unsigned count) {
    unsigned bits = 0;
    for (; count > 0; --count) {
      range_ >>= 1;
      const bool bit = code_ >= range_;
      if (bit) code_ -= range_;
      bits = bits * 2 + bit;
      Refill();
    }
    return bits;
  }

  // A number whose bits each have chances of their own for the bits above.
  unsigned Number(Chance* chances, unsigned bits) {
    unsigned place = 1;
    for (unsigned i = 0; i < bits; ++i) place = place * 2 + Bit(chances + place);
    return place - (1u << bits);
  }

  // The same from the lowest bit.
  unsigned Mirrored(Chance* chances, unsigned bits) {
    unsigned place = 1, number = 0;
    for (unsigned i = 0; i < bits; ++i) {
      const unsigned bit = Bit(chances + place);
      place = place * 2 + bit;
      number |= bit << i;
    }
    return number;
  }

  void AddLiteral() {
    const auto before = to_ > quadra_texts ? static_cast<uint8_t>(to_[-1]) : 0u;
    Chance* const chances = literals_[before >> (8 - kContextBits)];
    unsigned place = 1;
    if (state_ >= kFirstAfterMatch) {
      // It is not what the last copy would have gone on with, whose bits are its context.
      unsigned other = static_cast<uint8_t>(to_[-1 - static_cast<int>(distances_[0])]);
      for (bool is_same = true; is_same && place < 1 << 8; other <<= 1) {
        const unsigned expected = other >> 7 & 1;
        const unsigned bit = Bit(chances + ((1 + expected) << 8) + place);
        place = place * 2 + bit;
        is_same = bit == expected;
      }
    }
    while (place < 1 << 8) place = place * 2 + Bit(chances + place);
    *to_++ = static_cast<char>(place);
    state_ = state_ < 4 ? 0 : state_ < 10 ? state_ - 3 : state_ - 6;
  }

  unsigned Length(Lengths* lengths) {
    if (!Bit(&lengths->is_longer)) return Number(lengths->of_short, 3);
    if (!Bit(&lengths->is_longest)) return 8 + Number(lengths->of_longer, 3);
    return 16 + Number(lengths->of_longest, 8);
  }

  // From a distance that is new; returns the length.
  unsigned ReadCopy() {
    for (int i = 3; i > 0; --i) distances_[i] = distances_[i - 1];
    const unsigned length = Length(&lengths_);
    state_ = state_ < kFirstAfterMatch ? 7 : 10;
    const unsigned step = Number(steps_[length < 4 ? length : 3], 6);
    unsigned distance = step;
    if (step >= 4) {
      const unsigned bits = (step >> 1) - 1;
      distance = (2 | (step & 1)) << bits;
      if (step < 14) {
        distance += Mirrored(near_ + distance - step, bits);
      } else {
        distance += EvenBits(bits - 4) << 4;
        distance += Mirrored(far_, 4);
      }
    }
    distances_[0] = distance;
    return length + 2;
  }

  // From one of the last four distances.
  unsigned ReadKnownCopy() {
    int place = 0;
    if (!Bit(&is_older_[0][state_])) {
      if (!Bit(&is_long_[state_])) {
        state_ = state_ < kFirstAfterMatch ? 9 : 11;
        return 1;
      }
    } else {
      for (place = 1; place < 3 && Bit(&is_older_[place][state_]); ++place) {
      }
    }
    const unsigned distance = distances_[place];
    for (; place > 0; --place) distances_[place] = distances_[place - 1];
    distances_[0] = distance;
    const unsigned length = Length(&known_lengths_);
    state_ = state_ < kFirstAfterMatch ? 8 : 11;
    return length + 2;
  }

  void Copy(unsigned length) {
    const char* copied = to_ - 1 - distances_[0];
    for (; length > 0; --length) *to_++ = *copied++;
  }

  static constexpr int kHead = 5;  // a zero, and the first four bytes of the code
  const uint8_t* from_ = quadra_packed_texts + kHead;
  uint32_t range_ = ~0u;
  uint32_t code_ = static_cast<uint32_t>(quadra_packed_texts[1]) << 24 |
                   quadra_packed_texts[2] << 16 | quadra_packed_texts[3] << 8 |
                   quadra_packed_texts[4];
  char* to_ = quadra_texts;
  int state_ = 0;
  unsigned distances_[4] = {};
  Chance is_copy_[kStates] = {}, is_known_[kStates] = {}, is_long_[kStates] = {};
  Chance is_older_[3][kStates] = {};
  Chance steps_[4][1 << 6] = {}, near_[1 << 7] = {}, far_[1 << 4] = {};
  Lengths lengths_ = {}, known_lengths_ = {};
  Chance literals_[1 << kContextBits][3 << 8] = {};
};

}  // namespace
}  // namespace quadra

void quadra_unpack_texts() { quadra::Unpacker().Run(); }
