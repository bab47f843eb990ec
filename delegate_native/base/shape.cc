#include "delegate_native/base/shape.h"

#include "delegate_native/base/status.h"

namespace quadra {

std::string ToString(const Shape& s) { return Format("%d,%d,%d,%d", s.b, s.h, s.w, s.c); }

}  // namespace quadra
