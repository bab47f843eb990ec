// 128 bits of some bytes: so many that equal hashes mean equal content, by all odds. Each step can
// be undone, so a change of one word never goes unseen. Not against an attacker.
#ifndef QUADRA_BASE_CONTENT_HASH_H_
#define QUADRA_BASE_CONTENT_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace quadra {

class ContentHash {
 public:
  void Add(const void* data, size_t size);
  void Add(const std::string& text) { Add(text.data(), text.size()); }
  void Add(int64_t number);

  uint64_t low() const;
  uint64_t high() const;
  std::string hex() const;

 private:
  // Two that have nothing in common but their words.
  struct Walk {
    uint64_t a = 0x243f6a8885a308d3u, b = 0x13198a2e03707344u;
    void MixA(uint64_t word);
    void MixB(uint64_t word);
  };

  Walk Ends() const;

  Walk walks_[4];
};

}  // namespace quadra

#endif  // QUADRA_BASE_CONTENT_HASH_H_
