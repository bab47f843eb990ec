// Products of matrices whose axes before the matrices a reshape has merged, as PyTorch's bmm wants
// them: they are computed on the axes as they were, so that attentions are found.
#include <algorithm>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"
#include "delegate_native/passes/transposes.h"

namespace quadra {
namespace {

// The input of the reshape that makes these matrices, if it leaves the matrices; -1: there is none.
ValueId Matrices(const Graph& graph, ValueId id, int reader) {
  const int maker = graph.Producer(id, reader);
  if (maker < 0) return -1;
  const Node& reshape = graph.nodes[static_cast<size_t>(maker)];
  if (reshape.op != "reshape" || !reshape.fused.empty()) return -1;
  const Shape &from = graph.shape(reshape.inputs[0]), &to = graph.shape(id);
  return from.w == to.w && from.c == to.c && graph.value(reshape.inputs[0]).rank > 1
             ? reshape.inputs[0]
             : -1;
}

}  // namespace

int RemoveProductReshapes(Graph* graph) {
  int changes = 0;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    const Node& node = graph->nodes[i];
    if (node.op != "batch_matmul" || !node.fused.empty()) continue;
    const int at = static_cast<int>(i);
    const ValueId a = Matrices(*graph, node.inputs[0], at),
                  b = Matrices(*graph, node.inputs[1], at);
    if (a < 0 || b < 0) continue;
    Shape made = graph->shape(a);
    bool alike = true;
    for (int axis = kFirstAxis; axis < 2; ++axis) {
      alike &= made.axis(axis) == graph->shape(b).axis(axis);
    }
    const ValueId old = node.outputs[0];
    made.c = graph->shape(old).c;
    // Those of the reshapes are one and the same, too.
    if (!alike || made.elements() != graph->shape(old).elements()) continue;
    const int rank = std::max(graph->value(a).rank, graph->value(b).rank);
    const ValueId product = AddShaped(graph, old, made, rank);
    Node& changed = graph->nodes[i];
    changed.inputs = {a, b};
    changed.outputs = {product};
    Node back = ReshapeOf(*graph, product, old);
    back.sources = changed.sources;
    graph->nodes.insert(graph->nodes.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(back));
    ++changes;
  }
  if (changes > 0) {
    RemoveUnread(graph);
    MergeReshapes(graph);
    while (RemoveIdentity(graph) > 0) continue;
    RemovePixelReshapes(graph);
    while (RemoveIdentity(graph) > 0) continue;
  }
  return changes;
}

}  // namespace quadra
