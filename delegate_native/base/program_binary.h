// A program as the driver compiled it.
#ifndef QUADRA_BASE_PROGRAM_BINARY_H_
#define QUADRA_BASE_PROGRAM_BINARY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace quadra {

struct KernelHead {
  std::string entry;
  std::vector<std::string> parameters;  // as in the plan
};

struct ProgramBinary {
  std::vector<uint8_t> bytes;  // empty: the driver gave none
  uint32_t format = 0;         // OpenGL ES: the driver's word for it
  // The kernels that it holds, in its order; none: those of the plan's program, in that order.
  std::vector<KernelHead> kernels = {};
  bool is_more = false;  // of the same program of the plan as the one before
};

// How many of a plan's programs were compiled, and how many came from the cache.
struct BinaryCount {
  int loaded = 0;    // from its binary
  int refused = 0;   // its binary, by the driver: of another one, or damaged
  int compiled = 0;  // from its source: after that, or because there was no binary
};

}  // namespace quadra

#endif  // QUADRA_BASE_PROGRAM_BINARY_H_
