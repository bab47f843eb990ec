// A node that computes what an earlier one does goes: composites have the same angles or mask in
// each layer, each in a decomposition of its own.
#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

// Constants that are not worth it are large: those that layers repeat have a few numbers.
constexpr size_t kMostNumbers = 1 << 12;

bool HasSameNumbers(const Constant& a, const Constant& b) {
  if (&a == &b) return true;
  if (a.size() != b.size() || a.size() > kMostNumbers) return false;
  ContentHash of_a, of_b;
  a.AddTo(&of_a);
  b.AddTo(&of_b);
  return of_a.low() == of_b.low() && of_a.high() == of_b.high();
}

bool AreAlike(const Value& a, const Value& b) {
  return a.shape == b.shape && a.rank == b.rank && a.element == b.element;
}

bool IsSame(const Graph& graph, ValueId one, ValueId other) {
  const Value& a = graph.value(one);
  const Value& b = graph.value(other);
  return one == other ||
         (a.constant && b.constant && AreAlike(a, b) && HasSameNumbers(*a.constant, *b.constant));
}

// Whether they compute the same; `later` is no output, which another node would have to compute.
bool ComputesSame(const Graph& graph, const Node& first, const Node& later) {
  if (first.op != later.op || first.inputs.size() != later.inputs.size() ||
      first.outputs.size() != 1 || later.outputs.size() != 1 || !first.fused.empty() ||
      !later.fused.empty() || graph.IsOutput(later.outputs[0])) {
    return false;
  }
  for (size_t i = 0; i < first.inputs.size(); ++i) {
    if (!IsSame(graph, first.inputs[i], later.inputs[i])) return false;
  }
  return first.attributes == later.attributes &&
         AreAlike(graph.value(first.outputs[0]), graph.value(later.outputs[0]));
}

// A computed value that the node reads, by whose readers those that compute the same are found; -1:
// none.
ValueId ComputedInput(const Graph& graph, const Node& node) {
  for (ValueId id : node.inputs) {
    if (!graph.IsConstant(id)) return id;
  }
  return -1;
}

// Whether a later one was taken out.
bool MergeNext(Graph* graph, size_t i) {
  Node& first = graph->nodes[i];
  const ValueId read = ComputedInput(*graph, first);
  if (read < 0) return false;
  for (int at : graph->Consumers(read)) {
    const size_t j = static_cast<size_t>(at);
    if (j <= i || !ComputesSame(*graph, first, graph->nodes[j])) continue;
    const ValueId from = graph->nodes[j].outputs[0], to = first.outputs[0];
    AddSources(graph->nodes[j], &first);
    graph->RemoveNode(at);
    graph->ReplaceUses(from, to);
    for (auto& tensor : graph->tensors) {
      if (tensor.second == from) tensor.second = to;  // it has the same numbers
    }
    return true;
  }
  return false;
}

}  // namespace

int MergeEqualNodes(Graph* graph) {
  int changes = 0;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    while (MergeNext(graph, i)) ++changes;
  }
  return changes;
}

}  // namespace quadra
