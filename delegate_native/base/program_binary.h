// A program as the driver compiled it.
#ifndef QUADRA_BASE_PROGRAM_BINARY_H_
#define QUADRA_BASE_PROGRAM_BINARY_H_

#include <cstdint>
#include <vector>

namespace quadra {

struct ProgramBinary {
  std::vector<uint8_t> bytes;  // empty: the driver gave none
  uint32_t format = 0;         // OpenGL ES: the driver's word for it
};

// What became of a plan's binaries.
struct BinaryCount {
  int loaded = 0;   // programs that were not compiled
  int refused = 0;  // compiled all the same: of another driver, or damaged
};

}  // namespace quadra

#endif  // QUADRA_BASE_PROGRAM_BINARY_H_
