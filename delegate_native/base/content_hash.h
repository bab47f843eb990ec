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
    walks_[0].Mix(size);
    const unsigned char* bytes = static_cast<const unsigned char*>(data);
    // Four walks side by side: none waits for another's products.
    for (; size >= 4 * sizeof(uint64_t); size -= 4 * sizeof(uint64_t)) {
      for (Walk& walk : walks_) walk.Mix(Take(&bytes, sizeof(uint64_t)));
    }
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t)) {
      walks_[0].Mix(Take(&bytes, sizeof(uint64_t)));
    }
    walks_[0].Mix(Take(&bytes, size));
  }
  void Add(const std::string& text) { Add(text.data(), text.size()); }
  void Add(int64_t number) { walks_[0].Mix(static_cast<uint64_t>(number)); }

  uint64_t low() const { return Ends().a ^ (Ends().b >> 29); }
  uint64_t high() const { return Ends().b; }
  std::string hex() const {
    return Format("%016llx%016llx", static_cast<unsigned long long>(high()),
                  static_cast<unsigned long long>(low()));
  }

 private:
#define QUADRA_INLINE inline __attribute__((always_inline))
  // Two that have nothing in common but their words.
  struct Walk {
    uint64_t a = 0x243f6a8885a308d3u, b = 0x13198a2e03707344u;

    QUADRA_INLINE void MixA(uint64_t word) {
      a = (a ^ word) * 0x9e3779b97f4a7c15u;
      a ^= a >> 32;
    }
    QUADRA_INLINE void MixB(uint64_t word) {
      b = (b + word) * 0xc2b2ae3d27d4eb4fu;
      b ^= b >> 29;
    }
    QUADRA_INLINE void Mix(uint64_t word) { MixA(word), MixB(word); }
  };

  static QUADRA_INLINE uint64_t Take(const unsigned char** bytes, size_t size) {
    uint64_t word = 0;
    if (size) memcpy(&word, *bytes, size);
    *bytes += size;
    return word;
  }
#undef QUADRA_INLINE

  // The four as one.
  Walk Ends() const {
    Walk all = walks_[0];
    for (int i = 1; i < 4; ++i) all.MixA(walks_[i].a), all.MixB(walks_[i].b);
    return all;
  }

  Walk walks_[4];
};

}  // namespace quadra

#endif  // QUADRA_BASE_CONTENT_HASH_H_
