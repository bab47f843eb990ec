// A reshape of a reshape reads what the first one read.
#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {

int MergeReshapes(Graph* graph) {
  int changes = 0;
  for (Node& node : graph->nodes) {
    if (node.op != "reshape") continue;
    const int producer = graph->Producer(node.inputs[0]);
    if (producer < 0) continue;
    const Node& first = graph->nodes[static_cast<size_t>(producer)];
    if (first.op != "reshape" || !first.fused.empty()) continue;
    node.inputs[0] = first.inputs[0];
    AddSources(first, &node);
    ++changes;
  }
  if (changes > 0) RemoveDeadNodes(graph);
  return changes;
}

}  // namespace quadra
