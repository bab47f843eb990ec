// ADD of a constant number, or of one per channel, after a convolution goes into its bias; before
// one too, where no padding (which is not added to) reaches the sum.
#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

// add(conv(x), k)
bool FoldAfter(Graph* graph, size_t i) {
  const Node add = graph->nodes[i];
  for (size_t operand = 0; operand < 2; ++operand) {
    const ValueId result = add.inputs[operand], term = add.inputs[1 - operand];
    std::vector<float> terms;
    Filters filters;
    if (graph->shape(result) != graph->shape(add.outputs[0])) continue;
    if (!ChannelValues(*graph, term, graph->shape(result), &terms)) continue;
    const int producer = graph->Producer(result, static_cast<int>(i));
    if (producer < 0 || CountUses(*graph, result) != 1) continue;
    Node& conv = graph->nodes[static_cast<size_t>(producer)];
    if (!conv.fused.empty() || !Filters::Read(*graph, conv, &filters)) continue;
    for (size_t o = 0; o < terms.size(); ++o) filters.bias()[o] += terms[o];
    filters.Write(graph, &conv);
    conv.outputs = add.outputs;
    AddSources(add, &conv);
    graph->RemoveNode(static_cast<int>(i));
    return true;
  }
  return false;
}

// conv(add(x, k))
bool FoldBefore(Graph* graph, size_t i) {
  const Node add = graph->nodes[i];
  if (!ReadsConstant(*graph, add) || CountUses(*graph, add.outputs[0]) != 1) return false;
  const std::vector<int> consumers = graph->Consumers(add.outputs[0]);
  if (consumers.empty()) return false;
  Node& conv = graph->nodes[static_cast<size_t>(consumers[0])];
  Filters filters;
  // Results of a transposed convolution sum different numbers of weights.
  if (!SlidesWindow(conv) || conv.inputs[0] != add.outputs[0]) return false;
  if (!Filters::Read(*graph, conv, &filters) || WindowOf(*graph, conv).pads()) return false;
  for (size_t operand = 0; operand < 2; ++operand) {
    const ValueId x = add.inputs[operand], term = add.inputs[1 - operand];
    std::vector<float> terms;
    if (graph->IsConstant(x) || graph->shape(x) != graph->shape(add.outputs[0])) continue;
    if (!ChannelValues(*graph, term, graph->shape(x), &terms)) continue;
    filters.ForEach([&](float& w, int o, int c) {
      filters.bias()[static_cast<size_t>(o)] += w * terms[static_cast<size_t>(c)];
    });
    filters.Write(graph, &conv);
    conv.inputs[0] = x;
    AddSources(add, &conv);
    graph->RemoveNode(static_cast<int>(i));
    return true;
  }
  return false;
}

}  // namespace

int FoldAddIntoBias(Graph* graph) {
  int changes = 0;
  for (size_t i = 0; i < graph->nodes.size();) {
    const Node& node = graph->nodes[i];
    const bool candidate = node.op == "add" && node.inputs.size() == 2 && node.fused.empty();
    if (candidate && (FoldAfter(graph, i) || FoldBefore(graph, i))) {
      ++changes;
    } else {
      ++i;
    }
  }
  return changes;
}

}  // namespace quadra
