// Numbers of the model's tensors are handed over while the model runs (dump_tensors): where a node
// stores them, a copy follows at once, for their memory is soon another's.
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {

void CopyTensors(Graph* graph) {
  std::vector<Node> made;
  for (Node& node : graph->nodes) {
    const size_t at = made.size();
    made.push_back(std::move(node));
    for (size_t i = 0; i < made[at].outputs.size(); ++i) {
      for (const auto& [tensor, value] : graph->tensors) {
        if (value == made[at].outputs[i]) AddCopyOf(value, tensor + 1, at, graph, &made);
      }
    }
  }
  graph->nodes.swap(made);
}

}  // namespace quadra
