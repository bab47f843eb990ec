// The host's memory for a plan's inputs and outputs, where nobody gives any.
#ifndef QUADRA_SESSION_IO_MEMORY_H_
#define QUADRA_SESSION_IO_MEMORY_H_

#include <cstdint>
#include <vector>

#include "delegate_native/plan/plan_generated.h"

namespace quadra {

// How many numbers an input or output has.
int64_t NumbersOf(const fb::Io& io);

struct IoMemory {
  // Zeros.
  explicit IoMemory(const fb::Plan& plan);

  std::vector<int32_t> numbers;
  // In `numbers`.
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
};

}  // namespace quadra

#endif  // QUADRA_SESSION_IO_MEMORY_H_
