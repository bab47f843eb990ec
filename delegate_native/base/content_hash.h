// 128 bits of some bytes: so many that equal hashes mean equal content, by all odds. Each step can
// be undone, so a change of one word never goes unseen. Not against an attacker.
#ifndef QUADRA_BASE_CONTENT_HASH_H_
#define QUADRA_BASE_CONTENT_HASH_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "delegate_native/base/status.h"

namespace quadra {

class ContentHash {
 public:
  void Add(const void* data, size_t size) {
    Mix(size);
    const unsigned char* bytes = static_cast<const unsigned char*>(data);
    uint64_t word = 0;
    for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
      memcpy(&word, bytes, sizeof(word));
      Mix(word);
    }
    word = 0;
    if (size) memcpy(&word, bytes, size);
    Mix(word);
  }
  void Add(const std::string& text) { Add(text.data(), text.size()); }
  void Add(int64_t number) { Mix(static_cast<uint64_t>(number)); }

  uint64_t low() const { return a_ ^ (b_ >> 29); }
  uint64_t high() const { return b_; }
  std::string hex() const {
    return Format("%016llx%016llx", static_cast<unsigned long long>(high()),
                  static_cast<unsigned long long>(low()));
  }

 private:
  // Two walks that have nothing in common but their words.
  void Mix(uint64_t word) {
    a_ = (a_ ^ word) * 0x9e3779b97f4a7c15u;
    a_ ^= a_ >> 32;
    b_ = (b_ + word) * 0xc2b2ae3d27d4eb4fu;
    b_ ^= b_ >> 29;
  }

  uint64_t a_ = 0x243f6a8885a308d3u, b_ = 0x13198a2e03707344u;
};

}  // namespace quadra

#endif  // QUADRA_BASE_CONTENT_HASH_H_
