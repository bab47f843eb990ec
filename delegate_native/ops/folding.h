// Numbers that are known before the GPU computes: tables of positions, masks, sizes.
#ifndef QUADRA_OPS_FOLDING_H_
#define QUADRA_OPS_FOLDING_H_

#include <vector>

#include "delegate_native/ops/op.h"

namespace quadra {

// How far the next number along each axis is, in the order of axes from kFirstAxis on.
struct Steps {
  int of[kMostRank];
};
// Those of a dense tensor; 0 along axes of 1, which are read as often as a result wants.
Steps StepsOf(const Shape& shape);

// Where the numbers of a result of this shape lie, in its order.
std::vector<int> PlacesOf(const Shape& result, const Steps& steps, int first = 0);

// Whether the node's result is worth the memory that it takes as a constant.
bool IsSmallConstant(const Graph& graph, const Node& node);

}  // namespace quadra

#endif  // QUADRA_OPS_FOLDING_H_
