// Inflates the library's texts (texts.h), by RFC 1951. What is read was made with the library, so
// nothing is checked.
#include <cstdint>

extern "C" {
extern const uint8_t quadra_packed_texts[];
extern char quadra_texts[];
void quadra_unpack_texts();
}

namespace quadra {
namespace {

constexpr int kMostBits = 15, kLiterals = 286, kDistances = 30, kEndOfBlock = 256;

class Inflater {
 public:
  void Run() {
    bool is_last;
    do {
      is_last = Bits(1);
      Bits(2);  // always 2: the block has codes of its own
      ReadCodes();
      ReadBlock();
    } while (!is_last);
  }

 private:
  // Canonical: how many codes there are of each length, and their symbols in order.
  struct Code {
    uint16_t counts[kMostBits + 1];
    uint16_t symbols[kLiterals + kDistances];

    void Set(const uint8_t* lengths, int count) {
      uint16_t places[kMostBits + 2] = {};
      for (int i = 0; i < count; ++i) ++places[lengths[i] + 1];
      for (int bits = 0; bits <= kMostBits; ++bits) {
        counts[bits] = places[bits + 1];
        places[bits + 1] = static_cast<uint16_t>(bits > 0 ? places[bits] + counts[bits] : 0);
      }
      for (int i = 0; i < count; ++i) {
        if (lengths[i] > 0) symbols[places[lengths[i]]++] = static_cast<uint16_t>(i);
      }
    }
  };

  unsigned Bits(int count) {
    unsigned bits = 0;
    for (int i = 0; i < count; ++i) {
      bits |= (*from_ >> bit_ & 1u) << i;
      bit_ = (bit_ + 1) & 7;
      if (bit_ == 0) ++from_;
    }
    return bits;
  }

  unsigned Symbol(const Code& code) {
    int at = 0, first = 0, place = 0;
    for (int bits = 1;; ++bits) {
      at = at * 2 + static_cast<int>(Bits(1));
      first *= 2;
      const int count = code.counts[bits];
      if (at - first < count) return code.symbols[place + at - first];
      place += count;
      first += count;
    }
  }

  void ReadCodes() {
    constexpr uint8_t kOrder[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const int literals = static_cast<int>(Bits(5)) + 257;
    const int distances = static_cast<int>(Bits(5)) + 1;
    const int given = static_cast<int>(Bits(4)) + 4;
    uint8_t lengths[kLiterals + 2 + kDistances + 2] = {};
    for (int i = 0; i < given; ++i) lengths[kOrder[i]] = static_cast<uint8_t>(Bits(3));
    literals_.Set(lengths, sizeof(kOrder));  // for now, of lengths
    for (int i = 0; i < literals + distances;) {
      const unsigned symbol = Symbol(literals_);
      unsigned length = symbol, times = 1;
      if (symbol >= 16) length = symbol == 16 ? lengths[i - 1] : 0;
      if (symbol == 16) times = 3 + Bits(2);
      if (symbol == 17) times = 3 + Bits(3);
      if (symbol == 18) times = 11 + Bits(7);
      for (; times > 0; --times) lengths[i++] = static_cast<uint8_t>(length);
    }
    literals_.Set(lengths, literals);
    distances_.Set(lengths + literals, distances);
  }

  // Lengths and distances in steps that double: after `plain` numbers each, `each` to a step.
  unsigned Number(unsigned symbol, unsigned each) {
    if (symbol < 2 * each) return symbol;
    const unsigned extra = symbol / each - 1;
    return ((each + symbol % each) << extra) + Bits(static_cast<int>(extra));
  }

  void ReadBlock() {
    for (;;) {
      const unsigned symbol = Symbol(literals_);
      if (symbol == kEndOfBlock) return;
      if (symbol < kEndOfBlock) {
        *to_++ = static_cast<char>(symbol);
        continue;
      }
      constexpr unsigned kLongest = 285;
      unsigned length = symbol == kLongest ? 258 : 3 + Number(symbol - 257, 4);
      const char* copied = to_ - 1 - Number(Symbol(distances_), 2);
      for (; length > 0; --length) *to_++ = *copied++;
    }
  }

  const uint8_t* from_ = quadra_packed_texts;
  int bit_ = 0;
  char* to_ = quadra_texts;
  Code literals_, distances_;
};

}  // namespace
}  // namespace quadra

void quadra_unpack_texts() { quadra::Inflater().Run(); }
