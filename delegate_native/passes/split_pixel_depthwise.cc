// A depthwise convolution of single pixels is a factor and a term per channel (how some converters
// write a batch normalization): MUL and ADD, which other passes fold into a neighbour. It stays
// where no neighbour would take them.
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

bool NeighbourTakesThem(const Graph& graph, const Node& node) {
  // The producer, as merged steps.
  const int producer = graph.Producer(node.inputs[0]);
  if (producer >= 0 && CountUses(graph, node.inputs[0]) == 1) return true;
  // A convolution after it, into its weights and bias.
  const std::vector<int> consumers = graph.Consumers(node.outputs[0]);
  if (consumers.size() != 1 || CountUses(graph, node.outputs[0]) != 1) return false;
  const Node& conv = graph.nodes[static_cast<size_t>(consumers[0])];
  return SlidesWindow(conv) && !WindowOf(graph, conv).pads();
}

bool CanSplit(const Graph& graph, const Node& node) {
  if (OpOf(node).convolution != Convolution::kDepthwise || !node.fused.empty()) return false;
  const Shape& weights = graph.shape(node.inputs[1]);
  if (weights.h != 1 || weights.w != 1 || !graph.IsConstant(node.inputs[1])) return false;
  if (node.inputs.size() > 2 && !graph.IsConstant(node.inputs[2])) return false;
  return graph.shape(node.inputs[0]) == graph.shape(node.outputs[0]) &&
         !WindowOf(graph, node).pads() && NeighbourTakesThem(graph, node);
}

}  // namespace

int SplitPixelDepthwise(Graph* graph) {
  int changes = 0;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    const Node node = graph->nodes[i];
    if (!CanSplit(*graph, node)) continue;
    Node mul = node, add = node;
    mul.op = "mul", add.op = "add";
    mul.attributes = add.attributes = Attributes();
    mul.inputs.resize(2);
    if (node.inputs.size() > 2) {
      const Value result = graph->value(node.outputs[0]);
      mul.outputs = {graph->AddValue(result.name + "/mul", result.shape)};
      add.inputs = {mul.outputs[0], node.inputs[2]};
      graph->nodes.insert(graph->nodes.begin() + static_cast<std::ptrdiff_t>(i) + 1, add);
    }
    graph->nodes[i] = std::move(mul);
    ++changes;
  }
  return changes;
}

}  // namespace quadra
