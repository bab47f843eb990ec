#include "delegate_native/base/shape.h"

#include "delegate_native/base/status.h"

namespace quadra {

std::string ToString(const Shape& s) { return Format("%d,%d,%d,%d", s.b, s.h, s.w, s.c); }

bool FitsInts(const Shape& shape) {
  int64_t numbers = 4;
  for (int n : {shape.b, shape.h, shape.w, shape.slices()}) {
    if (n < 1 || numbers > INT32_MAX / n) return false;
    numbers *= n;
  }
  return true;
}

}  // namespace quadra
