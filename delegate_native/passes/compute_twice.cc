// Finds programs that a driver miscompiles (session/self_check.h): each value is computed twice, of
// the same operands, by the program of the graph's plan and by the op's plainest kernels.
#include <algorithm>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

void LookAt(const std::string& name, const Attributes& attributes, Check* check) {
  const Op* op = FindOp(name);
  check->jumps |= op && op->jumps;
  if (!attributes.Has("inverse")) return;
  check->jumps = true;
  check->step = std::max(check->step, attributes.Float("scale"));
}

Check CheckOf(const Graph& graph, const Node& node) {
  Check check;
  LookAt(node.op, node.attributes, &check);
  for (const FusedStep& step : node.fused) LookAt(step.op, step.attributes, &check);
  for (ValueId output : node.outputs) {
    const Value& value = graph.value(output);
    check.jumps |= !IsFloat(value.element) && !value.dense;  // an output is copied
  }
  return check;
}

}  // namespace

void ComputeTwice(Graph* graph, std::vector<Check>* checks) {
  std::vector<Node> made;
  for (const Node& node : graph->nodes) {
    if (graph->MovesNothing(node)) {
      made.push_back(node);
      continue;
    }
    const bool goes_out = graph->value(node.outputs[0]).dense;
    Check check = CheckOf(*graph, node);
    check.node = static_cast<int>(made.size());
    const int number = 2 * static_cast<int>(checks->size());
    for (size_t i = 0; i < node.outputs.size(); ++i) checks->push_back(check);
    for (int side = 0; side < 2; ++side) {
      const size_t at = made.size();
      made.push_back(node);
      made[at].plain = side == 1;
      // The program that brings numbers out is no node's alone.
      if (goes_out) made[at].sources.clear();
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        const int copy_of = number + 2 * static_cast<int>(i) + side + 1;
        ValueId id = node.outputs[i];
        if (goes_out) {
          const Element element = graph->value(id).element;
          id = AddDense(graph, id, "copy", copy_of);
          graph->value(id).element = element;  // of a state perhaps bytes
        } else {
          if (side == 0) id = graph->AddValue(Value(graph->value(id)));
          AddCopyOf(id, copy_of, at, graph, &made).plain = true;
        }
        made[at].outputs[i] = id;
      }
    }
  }
  graph->nodes.swap(made);
}

}  // namespace quadra
