// Nodes that change nothing: their readers read what they read.
#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

bool IsCopy(const Node& node) {
  const Op& op = OpOf(node);
  return op.copies && op.copies(node);
}

// Whether the node is a copy of its input, which has the same shape.
bool ChangesNothing(const Graph& graph, const Node& node) {
  return node.fused.empty() && !node.inputs.empty() && node.outputs.size() == 1 &&
         graph.shape(node.inputs[0]) == graph.shape(node.outputs[0]) && IsCopy(node);
}

}  // namespace

int RemoveIdentity(Graph* graph) {
  int changes = 0;
  for (int i = 0; i < static_cast<int>(graph->nodes.size());) {
    if (ChangesNothing(*graph, graph->nodes[static_cast<size_t>(i)]) && Bypass(graph, i)) {
      ++changes;
    } else {
      ++i;
    }
  }
  return changes;
}

}  // namespace quadra
