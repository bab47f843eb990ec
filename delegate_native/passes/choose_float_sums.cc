// Every sum in half adds an error that is near the same part of its result, however many products
// its convolution has. So those that have few have floats, which cost next to nothing, and those
// with most of the products alone are in half. What is a float in any case counts among them: else
// a model with a large first layer would compute a third of its products in floats.
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

// Whether its sums are floats in any case: of one slice, four products, halves save nothing
// (ops/conv_gpu.cc).
bool HasOneSlice(const Graph& graph, const Node& node) {
  return FindOp(node.op)->convolution != Convolution::kDepthwise &&
         graph.shape(node.inputs[0]).c <= 4;
}

}  // namespace

int ChooseFloatSums(Graph* graph) {
  constexpr int kPercent = 18;  // so many of the products may be floats
  constexpr int64_t kNone = INT64_MAX;
  std::vector<int64_t> products;
  int64_t all = 0, floats = 0;
  for (const Node& node : graph->nodes) {
    const bool takes_part = IsConvolution(node) && !node.float32;
    const int64_t own = takes_part ? ProductsOf(*graph, node) : 0;
    all += own;
    const bool is_float = takes_part && HasOneSlice(*graph, node);
    if (is_float) floats += own;
    products.push_back(takes_part && !is_float ? own : kNone);
  }
  int64_t left = all * kPercent / 100 - floats;
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
