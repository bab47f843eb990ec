// A reshape that only makes a graph output: outputs leave as dense numbers in the order b, h, w, c,
// which is the same before the reshape. (Who runs the graph knows the shape that the model gives.)
#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {

int RemoveOutputReshape(Graph* graph) {
  int changes = 0;
  for (size_t i = 0; i < graph->nodes.size();) {
    const Node& node = graph->nodes[i];
    const ValueId from = node.inputs.empty() ? -1 : node.inputs[0], to = node.outputs[0];
    if (node.op == "reshape" && node.fused.empty() && graph->IsOutput(to) &&
        graph->Consumers(to).empty() && graph->Producer(from) >= 0 && !graph->IsOutput(from)) {
      graph->RemoveNode(static_cast<int>(i));
      graph->ReplaceUses(to, from);
      ++changes;
    } else {
      ++i;
    }
  }
  return changes;
}

}  // namespace quadra
