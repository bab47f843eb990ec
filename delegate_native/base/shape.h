// Shapes are always four numbers: batch, height, width, channels. Tensors of a lower rank are
// right-aligned ([n] is 1,1,1,n; [b,c] is 1,1,b,c), so that numpy's broadcasting and axis
// numbering hold without exceptions. Ranks 5 and 6 are the same with two more axes in front, which
// lie in memory as more batches.
#ifndef QUADRA_BASE_SHAPE_H_
#define QUADRA_BASE_SHAPE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace quadra {

struct Shape {
  int b = 1, h = 1, w = 1, c = 1;
  int outer[2] = {1, 1};  // axes -2 and -1; b counts them in; where one is 0, b is -inner_b()

  // Below 1 where there are none.
  int64_t elements() const { return int64_t{b} * h * w * c; }
  // Slices of four channels of one batch item.
  int slices() const { return c / 4 + (c % 4 != 0); }
  // Dimension by axis: 1 = h … 3 = c; before them 0, of rank 4 the batch, -1 and -2.
  int axis(int a) const {
    if (a < 0) return outer[2 + a];
    return a == 0 ? inner_b() : a == 1 ? h : a == 2 ? w : c;
  }
  void set_axis(int a, int n) {
    const int inner = inner_b();
    if (a < 0) outer[2 + a] = n;
    if (a > 0) return void((a == 1 ? h : a == 2 ? w : c) = n);
    const int places = Product(outer[0], outer[1]), batches = a == 0 ? n : inner;
    b = places ? Product(places, batches) : -batches;
  }

  bool operator==(const Shape& o) const {
    return b == o.b && h == o.h && w == o.w && c == o.c && outer[0] == o.outer[0] &&
           outer[1] == o.outer[1];
  }
  bool operator!=(const Shape& o) const { return !(*this == o); }

  // Batches of one place of the outer axes.
  int inner_b() const {
    const int places = Product(outer[0], outer[1]);
    return places ? b / places : -b;
  }

 private:
  // The largest int where there is none so large: such a shape fits nowhere (FitsInts).
  static int Product(int n, int m) {
    return static_cast<int>(std::min(int64_t{n} * m, int64_t{INT32_MAX}));
  }
};

// Ranks up to this have a shape; the first of its axes is axis 4 - kMostRank.
constexpr int kMostRank = 6;
constexpr int kFirstAxis = 4 - kMostRank;

// The shape of a tensor with these dimensions, no more than kMostRank.
Shape ShapeOf(const int* dims, int rank);

// The shape of complex numbers' parts (base/element.h).
inline Shape InParts(Shape shape) {
  shape.c = static_cast<int>(std::min(int64_t{shape.c} * 2, int64_t{INT32_MAX}));
  return shape;
}

std::string ToString(const Shape& shape);  // "1,8,8,3"

// Whether the tensor, in slices of four channels, has fewer than 2^31 numbers: kernels count places
// with ints. No other tensor is planned, so that what is computed from a shape stays in range.
bool FitsInts(const Shape& shape);

// Integer division rounded up, of a number from 0 on by a positive one.
constexpr int CeilDiv(int a, int b) { return a / b + (a % b != 0); }
constexpr int64_t AlignUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace quadra

#endif  // QUADRA_BASE_SHAPE_H_
