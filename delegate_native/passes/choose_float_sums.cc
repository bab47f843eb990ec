// Every sum in half adds an error that is near the same part of its result, however many products
// its convolution has. So those that have few have floats, which cost next to nothing, and those
// with most of the products alone are in half.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

// A transposed convolution spreads each pixel of its source; the others gather each of the result.
int64_t ProductsOf(const Graph& graph, const Node& node) {
  const bool spreads = FindOp(node.op)->convolution == Convolution::kTransposed;
  const Shape& shape = graph.shape(spreads ? node.inputs[0] : node.outputs[0]);
  return shape.elements() / std::max(1, shape.c) * graph.shape(node.inputs[1]).elements();
}

}  // namespace

int ChooseFloatSums(Graph* graph) {
  constexpr int kShare = 5;  // one product in so many may be a float
  constexpr int64_t kNone = INT64_MAX;
  std::vector<int64_t> products;
  int64_t left = 0;
  for (const Node& node : graph->nodes) {
    const bool takes_part = IsConvolution(node) && !node.float32;
    products.push_back(takes_part ? ProductsOf(*graph, node) : kNone);
    if (takes_part) left += products.back();
  }
  left /= kShare;
  // The fewest first; of the same number the first.
  for (int chosen = 0;; ++chosen) {
    const auto fewest = std::min_element(products.begin(), products.end());
    if (fewest == products.end() || *fewest > left) return chosen;
    left -= *fewest;
    *fewest = kNone;
    graph->nodes[static_cast<size_t>(fewest - products.begin())].float_sums = true;
  }
}

}  // namespace quadra
