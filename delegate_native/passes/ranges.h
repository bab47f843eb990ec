// Ranges of int64 numbers before they are computed: the least and the largest that the nodes of a
// graph can make.
#ifndef QUADRA_PASSES_RANGES_H_
#define QUADRA_PASSES_RANGES_H_

#include <climits>
#include <vector>

#include "delegate_native/graph/graph.h"

namespace quadra {

struct Range {
  double low = 0, high = 0;
  bool IsWide() const { return low < INT_MIN || high > INT_MAX; }  // some need more than 32 bits
};

// The range of each value; 0 for those that are no int64.
std::vector<Range> RangesOfInt64(const Graph& graph);

}  // namespace quadra

#endif  // QUADRA_PASSES_RANGES_H_
