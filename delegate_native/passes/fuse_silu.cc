// x * logistic(x) becomes the op `silu`, which reads x once: so it is a step of what makes x, of a
// convolution or a product most often. The two are a dispatch of their own otherwise.
#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {

int FuseSilu(Graph* graph) {
  int changes = 0;
  Makers makers(*graph);
  for (Node& node : graph->nodes) {
    if (node.op != "mul" || !node.fused.empty()) continue;
    for (size_t i = 0; i < 2; ++i) {
      makers.used.clear();
      const ValueId x = node.inputs[1 - i];
      const Node* logistic = makers.Only(node.inputs[i], "logistic");
      if (!logistic || logistic->inputs[0] != x) continue;
      node.op = "silu";
      node.inputs = {x};
      AddSources(*logistic, &node);
      ++changes;
      break;
    }
  }
  if (changes > 0) RemoveUnread(graph);
  return changes;
}

}  // namespace quadra
