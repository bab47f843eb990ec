// Numbers of the interpreter's tensors from and to the int32 of a plan's inputs and outputs.
#ifndef QUADRA_SESSION_IO_NUMBERS_H_
#define QUADRA_SESSION_IO_NUMBERS_H_

#include <cstdint>
#include <vector>

#include "delegate_native/base/element.h"
#include "delegate_native/base/shape.h"

namespace quadra {

// An input or output of a partition, as the model sees it.
struct Port {
  Shape shape;
  int rank = 4;
  Element element = Element::kFloat32;
};

// Whether a plan has them as the interpreter does.
constexpr bool IsPlain(Element element) {
  return element == Element::kFloat32 || element == Element::kInt32;
}

// `from` holds as many numbers as `port` has. False: one is beyond 32 bits.
bool Widen(const void* from, const Port& port, std::vector<int32_t>* to);
// `to` has room for as many numbers as `from` holds.
void Narrow(const std::vector<int32_t>& from, Element element, void* to);

}  // namespace quadra

#endif  // QUADRA_SESSION_IO_NUMBERS_H_
