#include "delegate_native/ops/folding.h"

#include <algorithm>
#include <utility>

namespace quadra {

Steps StepsOf(const Shape& shape) {
  Steps steps;
  int next = 1;
  for (int axis = 3; axis >= kFirstAxis; --axis) {
    const int n = shape.axis(axis);
    steps.of[axis - kFirstAxis] = n > 1 ? next : 0;
    next *= n;
  }
  return steps;
}

std::vector<int> PlacesOf(const Shape& result, const Steps& steps, int first) {
  std::vector<int> places = {first};
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    std::vector<int> longer;
    for (int place : places) {
      for (int i = 0; i < result.axis(axis); ++i) {
        longer.push_back(place + i * steps.of[axis - kFirstAxis]);
      }
    }
    places = std::move(longer);
  }
  return places;
}

bool IsSmallConstant(const Graph& graph, const Node& node) {
  // A few hundred kilobytes, or no more than what the node reads, up to a few megabytes.
  constexpr int64_t kSmall = 1 << 16, kMost = 1 << 20;
  int64_t most = kSmall;
  for (ValueId id : node.inputs) most = std::max(most, graph.shape(id).elements());
  return graph.shape(node.outputs[0]).elements() <= std::min(most, kMost);
}

}  // namespace quadra
