// Nodes that change nothing: their readers read what they read.
#include <algorithm>
#include <cmath>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

bool AllOnes(const std::vector<int>& values) {
  return std::all_of(values.begin(), values.end(), [](int v) { return v == 1; });
}

// Whether a node whose result has the shape of its input also has its values.
bool KeepsValues(const Node& node) {
  const Attributes& a = node.attributes;
  if (node.op == "reshape" || node.op == "pad" || node.op == "resize_bilinear") return true;
  if (node.op == "mean") return true;  // over axes of size 1
  if (node.op == "concat") return node.inputs.size() == 1;
  if (node.op == "strided_slice") return AllOnes(a.Ints("strides"));
  if (node.op == "depth_to_space") return a.Int("block") == 1;
  if (node.op == "max_pool2d" || node.op == "average_pool2d") {
    return AllOnes(a.Ints("filter")) && a.Word("padding") != "explicit";
  }
  if (node.op == "clamp") {
    const float low = a.Float("low", -INFINITY), high = a.Float("high", INFINITY);
    return std::isinf(low) && low < 0 && std::isinf(high) && high > 0;
  }
  return false;
}

// Slices count axes by the rank of what they read, concatenations ask for equal ranks.
bool RankMatters(const Graph& graph, ValueId id) {
  for (int consumer : graph.Consumers(id)) {
    const std::string& op = graph.nodes[static_cast<size_t>(consumer)].op;
    if (op == "strided_slice" || op == "concat" || op == "mean") return true;
  }
  return false;
}

bool CanGo(const Graph& graph, const Node& node) {
  if (!node.fused.empty() || node.inputs.empty() || node.outputs.size() != 1) return false;
  const Value &from = graph.value(node.inputs[0]), &to = graph.value(node.outputs[0]);
  if (from.shape != to.shape || !KeepsValues(node)) return false;
  if (from.rank != to.rank && RankMatters(graph, node.outputs[0])) return false;
  // A graph output needs a node that computes it, and a value is one output only.
  if (!graph.IsOutput(node.outputs[0])) return true;
  return graph.Producer(node.inputs[0]) >= 0 && !graph.IsOutput(node.inputs[0]);
}

}  // namespace

int RemoveIdentity(Graph* graph) {
  int changes = 0;
  for (size_t i = 0; i < graph->nodes.size();) {
    const Node node = graph->nodes[i];
    if (!CanGo(*graph, node)) {
      ++i;
      continue;
    }
    graph->RemoveNode(static_cast<int>(i));
    graph->ReplaceUses(node.outputs[0], node.inputs[0]);
    ++changes;
  }
  return changes;
}

}  // namespace quadra
