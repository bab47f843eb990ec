// Each kernel has floats of one width: what nodes of both widths read is converted by a node
// between them.
#include <algorithm>
#include <utility>

#include "delegate_native/base/ranges.h"
#include "delegate_native/passes/passes.h"

namespace quadra {

void HoldFloat32(const std::string& list, Graph* graph) {
  for (Node& node : graph->nodes) {
    for (int source : node.sources) node.float32 |= InRanges(list.c_str(), source) > 0;
    if (!node.float32) continue;
    for (ValueId id : node.outputs) graph->value(id).float32 = true;
    // Values from outside the graph are not rounded on their way.
    for (ValueId id : Operands(node)) {
      if (std::count(graph->inputs.begin(), graph->inputs.end(), id)) {
        graph->value(id).float32 = true;
      }
    }
  }
  std::vector<ValueId> converted(graph->values.size(), -1);
  std::vector<Node> nodes;
  for (Node& node : graph->nodes) {
    for (size_t i = 0; i <= node.fused.size(); ++i) {
      for (ValueId& id : i == 0 ? node.inputs : node.fused[i - 1].inputs) {
        const Value& value = graph->value(id);
        if (value.float32 == node.float32 || !IsFloat(value.element)) continue;
        ValueId& other = converted[static_cast<size_t>(id)];
        if (other < 0) {
          if (!value.constant) {
            Node copy;
            copy.op = "copy";
            copy.inputs.push_back(id);
            copy.outputs.push_back(static_cast<ValueId>(graph->values.size()));
            copy.float32 = true;
            nodes.push_back(std::move(copy));
          }
          other = graph->AddValue(value);
          graph->value(other).float32 = node.float32;
        }
        id = other;
      }
    }
    nodes.push_back(std::move(node));
  }
  graph->nodes = std::move(nodes);
}

}  // namespace quadra
