// Outside, numbers lie dense, as the interpreter has them; kernels compute on slices of four
// channels. A node brings each input in and each output out. The same node makes floats of an
// input's integers where nobody wants these, and an output's integers of floats.
#include <algorithm>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

// The one reader of an input that nobody wants as the integers that it is; -1: there is none.
int OnlyDequantized(const Graph& graph, ValueId input) {
  const std::vector<int> readers = graph.Consumers(input);
  if (readers.size() != 1 || graph.IsOutput(input)) return -1;
  const Node& node = graph.nodes[static_cast<size_t>(readers[0])];
  if (node.op != "dequantize") return -1;
  for (const FusedStep& step : node.fused) {
    for (ValueId id : step.inputs) {
      if (!graph.IsConstant(id)) return -1;
    }
  }
  return readers[0];
}

// The node that makes an output's integers of floats, if nobody else wants them; -1: there is none.
int OnlyQuantized(const Graph& graph, ValueId output) {
  for (const auto& [tensor, value] : graph.tensors) {
    if (value == output) return -1;
  }
  const int producer = graph.Producer(output);
  if (producer < 0 || CountUses(graph, output) != 1) return -1;
  const Node& node = graph.nodes[static_cast<size_t>(producer)];
  return node.op == "quantize" && node.fused.empty() ? producer : -1;
}

// Appends node `own`, which leaves its place, or a copy.
void AddBorder(Graph* graph, int own, ValueId id, std::vector<Node>* to) {
  if (own < 0) {
    AddCopy(*graph, id, id, to);
    return;
  }
  Node node = std::move(graph->nodes[static_cast<size_t>(own)]);
  graph->RemoveNode(own);
  to->push_back(std::move(node));
}

}  // namespace

void AddBorders(Graph* graph) {
  std::vector<Node> made;
  for (ValueId& input : graph->inputs) {
    const int own = OnlyDequantized(*graph, input);
    AddBorder(graph, own, input, &made);
    // The model's name of an input that no other value has.
    std::string name = own < 0 ? Format("input_%zu", made.size() - 1) : graph->value(input).name;
    const Element element = graph->value(input).element;
    input = AddDense(graph, input, std::move(name));
    graph->value(input).element = element;
    made.back().inputs[0] = input;
  }
  size_t number = 0;
  for (ValueId& output : graph->outputs) {
    AddBorder(graph, OnlyQuantized(*graph, output), output, &graph->nodes);
    output = AddDense(graph, output, Format("output_%zu", number++));
    graph->nodes.back().outputs[0] = output;
  }
  for (Node& node : graph->nodes) made.push_back(std::move(node));
  graph->nodes.swap(made);
}

}  // namespace quadra
