// Numbers of the interpreter's tensors from and to the int32 of a plan's inputs and outputs, or its
// floats in the place of these.
#ifndef QUADRA_SESSION_IO_NUMBERS_H_
#define QUADRA_SESSION_IO_NUMBERS_H_

#include <cstdint>
#include <vector>

#include "delegate_native/base/element.h"
#include "delegate_native/base/shape.h"

namespace quadra {

// An input or output of a partition, as the model sees it.
struct IoTensor {
  Shape shape;
  int rank = 4;
  Element element = Element::kFloat32;
};

// Whether a plan has them as the interpreter does.
constexpr bool IsPlain(Element element) {
  return element == Element::kFloat32 || element == Element::kInt32 ||
         element == Element::kComplex64;
}

// Whether a plan that has so many numbers has the port's as pairs of words, as the interpreter
// does.
inline bool HasWords(const IoTensor& port, int64_t numbers) {
  return port.element == Element::kInt64 && numbers == 2 * port.shape.elements();
}

// `from` holds as many numbers as `port` has. Of an int64 beyond 32 bits, the nearest int32.
void Widen(const void* from, const IoTensor& port, std::vector<int32_t>* to);
// `to` has room for as many numbers as `from` holds.
void Narrow(const std::vector<int32_t>& from, Element element, void* to);

}  // namespace quadra

#endif  // QUADRA_SESSION_IO_NUMBERS_H_
