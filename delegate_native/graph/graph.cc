#include "delegate_native/graph/graph.h"

#include <algorithm>
#include <utility>

namespace quadra {

ValueId Graph::AddValue(std::string name, Shape shape, int rank) {
  Value value;
  value.name = std::move(name);
  value.shape = shape;
  value.rank = rank;
  return AddValue(std::move(value));
}

ValueId Graph::AddConstant(std::string name, Shape shape, std::vector<float> data, int rank) {
  const ValueId id = AddValue(std::move(name), shape, rank);
  value(id).constant = std::make_shared<const Constant>(std::move(data));
  return id;
}

bool Graph::IsOutput(ValueId id) const {
  return std::find(outputs.begin(), outputs.end(), id) != outputs.end();
}

bool Graph::MovesNothing(const Node& node) const {
  if (node.inputs.empty() || !node.fused.empty()) return false;
  const ValueId in = node.inputs[0], out = node.outputs[0];
  return (IsView(in) || IsView(out)) && MemoryOf(in) == MemoryOf(out);
}

int Graph::Producer(ValueId id, int reader) const {
  if (IsConstant(id) || std::find(inputs.begin(), inputs.end(), id) != inputs.end()) return -1;
  for (int i = std::min(reader, static_cast<int>(nodes.size())); i-- > 0;) {
    const std::vector<ValueId>& made = nodes[static_cast<size_t>(i)].outputs;
    if (std::find(made.begin(), made.end(), id) != made.end()) return i;
  }
  return -1;
}

std::vector<int> Graph::Consumers(ValueId id) const {
  const auto has = [id](const std::vector<ValueId>& ids) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  std::vector<int> found;
  for (size_t i = 0; i < nodes.size(); ++i) {
    bool reads = has(nodes[i].inputs);
    for (const FusedStep& step : nodes[i].fused) reads = reads || has(step.inputs);
    if (reads) found.push_back(static_cast<int>(i));
  }
  return found;
}

void Graph::ReplaceUses(ValueId from, ValueId to) {
  for (Node& node : nodes) {
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    for (FusedStep& step : node.fused) {
      std::replace(step.inputs.begin(), step.inputs.end(), from, to);
    }
  }
  std::replace(outputs.begin(), outputs.end(), from, to);
}

void Graph::RemoveNode(int index) { nodes.erase(nodes.begin() + index); }

std::vector<ValueId> Operands(const Node& node) {
  std::vector<ValueId> operands = node.inputs;
  for (const FusedStep& step : node.fused) {
    operands.insert(operands.end(), step.inputs.begin(), step.inputs.end());
  }
  return operands;
}

}  // namespace quadra
