#include "delegate_native/base/content_hash.h"

#include <cstring>

#include "delegate_native/base/status.h"

namespace quadra {
namespace {

#define QUADRA_INLINE inline __attribute__((always_inline))

QUADRA_INLINE uint64_t Take(const unsigned char** bytes, size_t size) {
  uint64_t word = 0;
  if (size) memcpy(&word, *bytes, size);
  *bytes += size;
  return word;
}

}  // namespace

QUADRA_INLINE void ContentHash::Walk::MixA(uint64_t word) {
  a = (a ^ word) * 0x9e3779b97f4a7c15u;
  a ^= a >> 32;
}

QUADRA_INLINE void ContentHash::Walk::MixB(uint64_t word) {
  b = (b + word) * 0xc2b2ae3d27d4eb4fu;
  b ^= b >> 29;
}

void ContentHash::Add(const void* data, size_t size) {
  Add(static_cast<int64_t>(size));
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  // Four walks side by side: none waits for another's products.
  for (; size >= 4 * sizeof(uint64_t); size -= 4 * sizeof(uint64_t)) {
    for (Walk& walk : walks_) {
      const uint64_t word = Take(&bytes, sizeof(uint64_t));
      walk.MixA(word), walk.MixB(word);
    }
  }
  for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t)) {
    Add(static_cast<int64_t>(Take(&bytes, sizeof(uint64_t))));
  }
  Add(static_cast<int64_t>(Take(&bytes, size)));
}

void ContentHash::Add(int64_t number) {
  walks_[0].MixA(static_cast<uint64_t>(number)), walks_[0].MixB(static_cast<uint64_t>(number));
}

// The four as one.
ContentHash::Walk ContentHash::Ends() const {
  Walk all = walks_[0];
  for (int i = 1; i < 4; ++i) all.MixA(walks_[i].a), all.MixB(walks_[i].b);
  return all;
}

uint64_t ContentHash::low() const { return Ends().a ^ (Ends().b >> 29); }
uint64_t ContentHash::high() const { return Ends().b; }

std::string ContentHash::hex() const {
  return Format("%016llx%016llx", static_cast<unsigned long long>(high()),
                static_cast<unsigned long long>(low()));
}

}  // namespace quadra
