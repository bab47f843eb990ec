// Elementwise nodes become steps of the node that makes their operand: activations of
// convolutions, residual additions, chains of elementwise nodes. Each saves a dispatch, and a
// tensor that is written and read again.
#include <algorithm>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

constexpr std::ptrdiff_t kMostSteps = 4;  // and as many roundings of quantised tensors
constexpr size_t kMostTensors = 4;        // that steps read: kernels have few arguments to spare

// Where values are made and how often they are read, kept while nodes are merged: a merge changes
// neither for any value but the one that goes. A node that went has no outputs any more.
struct Places {
  std::vector<int> producer;  // by value; -1: an input or a constant
  std::vector<int> uses;      // by value, as CountUses counts

  explicit Places(const Graph& graph)
      : producer(graph.values.size(), -1), uses(graph.values.size(), 0) {
    for (ValueId id : graph.outputs) ++uses[static_cast<size_t>(id)];
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      for (ValueId id : graph.nodes[i].outputs)
        producer[static_cast<size_t>(id)] = static_cast<int>(i);
      for (ValueId id : Operands(graph.nodes[i])) ++uses[static_cast<size_t>(id)];
    }
  }
  int ProducerOf(ValueId id) const { return producer[static_cast<size_t>(id)]; }
};

// Tensors that a kernel gets for these operands; single numbers are passed by value.
size_t CountTensors(const Graph& graph, const std::vector<ValueId>& operands) {
  return static_cast<size_t>(std::count_if(operands.begin(), operands.end(), [&](ValueId id) {
    return !graph.IsConstant(id) || graph.shape(id).elements() > 1;
  }));
}

// The producer's steps after a merge: its own, the node, the node's own.
std::vector<FusedStep> JoinSteps(const Node& producer, const Node& node, ValueId through) {
  std::vector<FusedStep> steps = producer.fused;
  FusedStep step;
  step.op = node.op;
  step.attributes = node.attributes;
  const auto at = std::find(node.inputs.begin(), node.inputs.end(), through);
  step.operand = static_cast<int>(at - node.inputs.begin());
  for (ValueId input : node.inputs) {
    if (input != through) step.inputs.push_back(input);  // x + x is a step without operand
  }
  steps.push_back(std::move(step));
  steps.insert(steps.end(), node.fused.begin(), node.fused.end());
  return steps;
}

bool AreFew(const std::vector<FusedStep>& steps) {
  const std::ptrdiff_t roundings = std::count_if(
      steps.begin(), steps.end(), [](const FusedStep& step) { return step.op == "requantize"; });
  return roundings <= kMostSteps &&
         static_cast<std::ptrdiff_t>(steps.size()) - roundings <= kMostSteps;
}

// The producer with the node's work in it.
Node Merged(const Graph& graph, const Node& node, ValueId through, int producer) {
  Node merged = graph.nodes[static_cast<size_t>(producer)];
  merged.fused = JoinSteps(merged, node, through);
  merged.outputs = node.outputs;
  AddSources(node, &merged);
  return merged;
}

bool CanMerge(const Graph& graph, const Places& places, const Node& node, ValueId through,
              const Fits& fits) {
  const int producer_index = places.ProducerOf(through);
  if (producer_index < 0) return false;
  const Node& producer = graph.nodes[static_cast<size_t>(producer_index)];
  if (producer.outputs.size() != 1) return false;
  if (graph.shape(through) != graph.shape(node.outputs[0])) return false;
  // Steps work on what the kernel has: floats or ints.
  if (IsFloat(graph.value(through).element) != IsFloat(graph.value(node.outputs[0]).element)) {
    return false;
  }
  // Nobody else may want the value. Where a step's operands are three, it is clear which is meant
  // only of one that is read once.
  const std::ptrdiff_t reads = std::count(node.inputs.begin(), node.inputs.end(), through);
  if (places.uses[static_cast<size_t>(through)] != reads) return false;
  if (reads > 1 && node.inputs.size() > 2) return false;
  const std::vector<FusedStep> steps = JoinSteps(producer, node, through);
  std::vector<ValueId> operands;
  for (const FusedStep& step : steps) {
    operands.insert(operands.end(), step.inputs.begin(), step.inputs.end());
  }
  const size_t tensors = CountTensors(graph, operands);
  if (!AreFew(steps) || tensors > kMostTensors) return false;
  return tensors == 0 || !fits || fits(graph, Merged(graph, node, through, producer_index));
}

// The operand to merge the node into: a convolution's result if there is one, else the one that
// is computed last; -1 if none will do.
ValueId ChooseOperand(const Graph& graph, const Places& places, const Node& node,
                      const Fits& fits) {
  ValueId best = -1;
  int best_rank = -1;
  for (ValueId id : node.inputs) {
    if (!CanMerge(graph, places, node, id, fits)) continue;
    const int producer = places.ProducerOf(id);
    const bool convolution = IsConvolution(graph.nodes[static_cast<size_t>(producer)]);
    const int rank = producer + (convolution ? static_cast<int>(graph.nodes.size()) : 0);
    if (rank > best_rank) best = id, best_rank = rank;
  }
  return best;
}

// True when all operands of the node are there where the producer runs.
bool RunsEarly(const Places& places, const Node& node, ValueId through, int producer) {
  for (ValueId id : Operands(node)) {
    if (id != through && places.ProducerOf(id) > producer) return false;
  }
  return true;
}

}  // namespace

int MergeElementwise(Graph* graph, const Fits& fits) {
  int changes = 0;
  Places places(*graph);
  std::vector<Node>& nodes = graph->nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node node = nodes[i];
    const ValueId through = OpOf(node).formula ? ChooseOperand(*graph, places, node, fits) : -1;
    if (through < 0) continue;
    const int producer = places.ProducerOf(through);
    // The merged node runs where the producer did, or later if a step reads what is not there yet.
    const bool early = RunsEarly(places, node, through, producer);
    const size_t stays = early ? static_cast<size_t>(producer) : i;
    Node merged = Merged(*graph, node, through, producer);
    nodes[early ? i : static_cast<size_t>(producer)] = Node();
    nodes[stays] = std::move(merged);
    places.producer[static_cast<size_t>(node.outputs[0])] = static_cast<int>(stays);
    ++changes;
  }
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                             [](const Node& node) { return node.outputs.empty(); }),
              nodes.end());
  return changes;
}

}  // namespace quadra
