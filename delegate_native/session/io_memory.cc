#include "delegate_native/session/io_memory.h"

#include <cstddef>

namespace quadra {

int64_t NumbersOf(const fb::Io& io) {
  int64_t numbers = 1;
  for (int32_t n : *io.shape()) numbers *= n;
  return numbers;
}

IoMemory::IoMemory(const fb::Plan& plan)
    : inputs(plan.inputs()->size()), outputs(plan.outputs()->size()) {
  constexpr size_t kAligned = 16;  // numbers
  const unsigned count = static_cast<unsigned>(inputs.size());
  for (const bool is_made : {false, true}) {
    size_t at = 0;
    for (unsigned i = 0; i < count + outputs.size(); ++i) {
      int32_t* place = is_made ? numbers.data() + at : nullptr;
      if (is_made && i < count) inputs[i] = place;
      if (is_made && i >= count) outputs[i - count] = place;
      const fb::Io* io = i < count ? plan.inputs()->Get(i) : plan.outputs()->Get(i - count);
      const size_t bytes = plan.tensors()->Get(static_cast<unsigned>(io->tensor()))->bytes();
      at += (bytes / 4 + kAligned) / kAligned * kAligned;
    }
    numbers.resize(at);
  }
}

}  // namespace quadra
