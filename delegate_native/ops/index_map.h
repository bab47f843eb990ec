// Ops that move numbers: each of the result is one of the source, at a place that the op computes.
#ifndef QUADRA_OPS_INDEX_MAP_H_
#define QUADRA_OPS_INDEX_MAP_H_

#include <string>

#include "delegate_native/ops/op.h"

namespace quadra {

// The places of a result along the axes -2 to 3 are the ints `at_p, at_q, at_b, at_y, at_x, at_c`;
// `address` turns them into those of the source. It may set the bool `inside` to false: then the
// result is `fill`, text of a number.
struct IndexMap {
  std::string address;
  // The source's four channels are the result's: at_c stays what it is.
  bool keeps_channels = false;
  const char* fill = "";  // none: everything is inside
};

// "at_y" of axis 1.
const char* PlaceName(int axis);
// A part of an address: the text with the axis's place as $at, and a number as $i.
std::string Along(int axis, int i, const char* text);

// Adds the kernel; the caller adds the numbers that its address speaks of.
KernelDesc& AddIndexMap(const KernelContext& context, const char* name, const IndexMap& map,
                        int from, const Shape& from_shape, int to, const Shape& to_shape,
                        KernelList* list);

}  // namespace quadra

#endif  // QUADRA_OPS_INDEX_MAP_H_
