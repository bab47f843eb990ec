// Shapes are always four numbers: batch, height, width, channels. Tensors of a lower rank are
// right-aligned ([n] is 1,1,1,n; [b,c] is 1,1,b,c), so that numpy's broadcasting and axis
// numbering hold without exceptions.
#ifndef QUADRA_BASE_SHAPE_H_
#define QUADRA_BASE_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace quadra {

struct Shape {
  int b = 1, h = 1, w = 1, c = 1;

  int64_t elements() const { return int64_t{b} * h * w * c; }
  // Slices of four channels of one batch item.
  int slices() const { return c / 4 + (c % 4 != 0); }
  // Dimension by axis of the rank-4 shape: 0 = b … 3 = c.
  int axis(int a) const { return a == 0 ? b : a == 1 ? h : a == 2 ? w : c; }
  void set_axis(int a, int n) { (a == 0 ? b : a == 1 ? h : a == 2 ? w : c) = n; }

  bool operator==(const Shape& o) const { return b == o.b && h == o.h && w == o.w && c == o.c; }
  bool operator!=(const Shape& o) const { return !(*this == o); }
};

std::string ToString(const Shape& shape);  // "1,8,8,3"

// Whether the tensor, in slices of four channels, has fewer than 2^31 numbers: kernels count places
// with ints. No other tensor is planned, so that what is computed from a shape stays in range.
bool FitsInts(const Shape& shape);

// Integer division rounded up, of a number from 0 on by a positive one.
constexpr int CeilDiv(int a, int b) { return a / b + (a % b != 0); }
constexpr int64_t AlignUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace quadra

#endif  // QUADRA_BASE_SHAPE_H_
