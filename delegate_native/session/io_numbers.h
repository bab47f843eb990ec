// Numbers of the interpreter's tensors from and to the int32 of a plan's inputs and outputs.
#ifndef QUADRA_SESSION_IO_NUMBERS_H_
#define QUADRA_SESSION_IO_NUMBERS_H_

#include <cstdint>
#include <vector>

#include "delegate_native/base/element.h"
#include "delegate_native/base/status.h"
#include "delegate_native/graph/graph.h"

namespace quadra {

// Whether a plan has them as the interpreter does.
constexpr bool IsPlain(Element element) {
  return element == Element::kFloat32 || element == Element::kInt32;
}

// `from` holds as many numbers as `value` has. Fails where one is beyond 32 bits.
Status Widen(const void* from, const Value& value, std::vector<int32_t>* to);
// `to` has room for as many numbers as `from` holds.
void Narrow(const std::vector<int32_t>& from, Element element, void* to);

}  // namespace quadra

#endif  // QUADRA_SESSION_IO_NUMBERS_H_
