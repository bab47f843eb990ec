#include "delegate_native/base/shape.h"

#include "delegate_native/base/status.h"

namespace quadra {

Shape ShapeOf(const int* dims, int rank) {
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.set_axis(4 - rank + i, dims[i]);
  return shape;
}

std::string ToString(const Shape& s) {
  std::string text;
  for (int a = s.outer[0] > 1 ? -2 : s.outer[1] > 1 ? -1 : 0; a < 4; ++a) {
    text += Format(text.empty() ? "%d" : ",%d", s.axis(a));
  }
  return text;
}

bool FitsInts(const Shape& shape) {
  int64_t numbers = 4;
  for (int n : {shape.b, shape.h, shape.w, shape.slices()}) {
    if (n < 1 || numbers > INT32_MAX / n) return false;
    numbers *= n;
  }
  return true;
}

}  // namespace quadra
