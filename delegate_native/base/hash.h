// FNV-1a, 64 bits: for finding equal texts, never for security.
#ifndef QUADRA_BASE_HASH_H_
#define QUADRA_BASE_HASH_H_

#include <cstddef>
#include <cstdint>

namespace quadra {

inline uint64_t Hash(const void* data, size_t size, uint64_t seed = 14695981039346656037ull) {
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) seed = (seed ^ bytes[i]) * 1099511628211ull;
  return seed;
}

}  // namespace quadra

#endif  // QUADRA_BASE_HASH_H_
