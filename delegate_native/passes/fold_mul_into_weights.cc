// MUL by a constant number, or by one per channel, after or before a convolution: the weights
// (and the bias) are multiplied instead.
#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

// mul(conv(x), k)
bool FoldAfter(Graph* graph, size_t i) {
  const Node mul = graph->nodes[i];
  for (size_t operand = 0; operand < 2; ++operand) {
    const ValueId result = mul.inputs[operand], factor = mul.inputs[1 - operand];
    std::vector<float> factors;
    Filters filters;
    if (graph->shape(result) != graph->shape(mul.outputs[0])) continue;
    if (!ChannelValues(*graph, factor, graph->shape(result), &factors)) continue;
    const int producer = graph->Producer(result, static_cast<int>(i));
    if (producer < 0 || CountUses(*graph, result) != 1) continue;
    Node& conv = graph->nodes[static_cast<size_t>(producer)];
    if (!conv.fused.empty() || !Filters::Read(*graph, conv, &filters)) continue;
    filters.ForEach([&](float& w, int o, int) { w *= factors[static_cast<size_t>(o)]; });
    for (size_t o = 0; o < factors.size(); ++o) filters.bias()[o] *= factors[o];
    filters.Write(graph, &conv);
    conv.outputs = mul.outputs;
    AddSources(mul, &conv);
    graph->RemoveNode(static_cast<int>(i));
    return true;
  }
  return false;
}

// conv(mul(x, k))
bool FoldBefore(Graph* graph, size_t i) {
  const Node mul = graph->nodes[i];
  if (!ReadsConstant(*graph, mul) || CountUses(*graph, mul.outputs[0]) != 1) return false;
  const std::vector<int> consumers = graph->Consumers(mul.outputs[0]);
  if (consumers.empty()) return false;
  Node& conv = graph->nodes[static_cast<size_t>(consumers[0])];
  Filters filters;
  if (conv.inputs[0] != mul.outputs[0] || !Filters::Read(*graph, conv, &filters)) return false;
  for (size_t operand = 0; operand < 2; ++operand) {
    const ValueId x = mul.inputs[operand], factor = mul.inputs[1 - operand];
    std::vector<float> factors;
    if (graph->IsConstant(x) || graph->shape(x) != graph->shape(mul.outputs[0])) continue;
    if (!ChannelValues(*graph, factor, graph->shape(x), &factors)) continue;
    filters.ForEach([&](float& w, int, int c) { w *= factors[static_cast<size_t>(c)]; });
    filters.Write(graph, &conv);
    conv.inputs[0] = x;
    AddSources(mul, &conv);
    graph->RemoveNode(static_cast<int>(i));
    return true;
  }
  return false;
}

}  // namespace

int FoldMulIntoWeights(Graph* graph) {
  int changes = 0;
  for (size_t i = 0; i < graph->nodes.size();) {
    const Node& node = graph->nodes[i];
    const bool candidate = node.op == "mul" && node.inputs.size() == 2 && node.fused.empty();
    if (candidate && (FoldAfter(graph, i) || FoldBefore(graph, i))) {
      ++changes;
    } else {
      ++i;
    }
  }
  return changes;
}

}  // namespace quadra
