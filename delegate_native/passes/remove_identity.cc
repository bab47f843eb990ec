// Nodes that change nothing: their readers read what they read.
#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

bool IsCopy(const Node& node) {
  const Op& op = OpOf(node);
  return op.copies && op.copies(node);
}

bool RankMatters(const Graph& graph, ValueId id) {
  for (int consumer : graph.Consumers(id)) {
    if (OpOf(graph.nodes[static_cast<size_t>(consumer)]).asks_for_rank) return true;
  }
  return false;
}

bool CanGo(const Graph& graph, const Node& node) {
  if (!node.fused.empty() || node.inputs.empty() || node.outputs.size() != 1) return false;
  const Value &from = graph.value(node.inputs[0]), &to = graph.value(node.outputs[0]);
  if (from.shape != to.shape || !IsCopy(node)) return false;
  if (from.rank != to.rank && RankMatters(graph, node.outputs[0])) return false;
  // A graph output needs a node that computes it, and a value is one output only.
  if (!graph.IsOutput(node.outputs[0])) return true;
  return graph.Producer(node.inputs[0]) >= 0 && !graph.IsOutput(node.inputs[0]);
}

}  // namespace

int RemoveIdentity(Graph* graph) {
  int changes = 0;
  for (size_t i = 0; i < graph->nodes.size();) {
    const Node node = graph->nodes[i];
    if (!CanGo(*graph, node)) {
      ++i;
      continue;
    }
    graph->RemoveNode(static_cast<int>(i));
    graph->ReplaceUses(node.outputs[0], node.inputs[0]);
    ++changes;
  }
  return changes;
}

}  // namespace quadra
