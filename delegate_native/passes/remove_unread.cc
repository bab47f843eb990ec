// Nodes whose results nobody reads.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "delegate_native/passes/passes.h"

namespace quadra {

int RemoveUnread(Graph* graph) {
  std::vector<bool> read(graph->values.size(), false);
  const auto is_read = [&read](ValueId id) { return read[static_cast<size_t>(id)]; };
  for (ValueId output : graph->outputs) read[static_cast<size_t>(output)] = true;
  std::vector<Node> kept;  // the last one first
  for (size_t i = graph->nodes.size(); i-- > 0;) {
    Node& node = graph->nodes[i];
    if (std::none_of(node.outputs.begin(), node.outputs.end(), is_read)) continue;
    for (ValueId operand : Operands(node)) read[static_cast<size_t>(operand)] = true;
    kept.push_back(std::move(node));
  }
  const int removed = static_cast<int>(graph->nodes.size() - kept.size());
  graph->nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  return removed;
}

}  // namespace quadra
