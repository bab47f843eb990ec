// Quantised tensors hold whole steps of a scale between two ends, a grid. What only moves such
// numbers need not round them again, and what they are clamped to beyond the ends is idle.
#include <algorithm>
#include <iterator>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

bool Rounds(const Node& node) { return node.op == "requantize"; }

// Whether they hold the same numbers: where the zero point stands says nothing of them.
bool AreSame(const Attributes& a, const Attributes& b) {
  const char* const numbers[] = {"scale", "low", "high"};
  return std::all_of(std::begin(numbers), std::end(numbers),
                     [&](const char* name) { return a.Float(name) == b.Float(name); });
}

// The grid that a node's results lie on, if that is known.
using Grids = std::vector<const Attributes*>;  // by value
const Attributes* GridAfter(const Graph& graph, const Node& node, const Grids& grids) {
  if (!node.fused.empty()) return nullptr;
  if (Rounds(node) || node.op == "dequantize") return &node.attributes;
  const bool pads = node.attributes.Has("value") && !PadsWithZeros(node.attributes);
  if ((!OpOf(node).moves && node.op != "copy") || pads) return nullptr;
  const Attributes* grid = nullptr;
  for (ValueId input : node.inputs) {
    if (!IsFloat(graph.value(input).element)) continue;  // places, not numbers
    const Attributes* own = grids[static_cast<size_t>(input)];
    if (!own || (grid && !AreSame(*grid, *own))) return nullptr;
    grid = own;
  }
  return grid;
}

// Whether a clamp changes nothing that the rounding after it does not: its ends are beyond the
// grid's, or nearer than half a step.
bool IsIdle(const Node& clamp, const Attributes& grid) {
  const float half_a_step = 0.499f * grid.Float("scale");
  const float low = grid.Float("low") * grid.Float("scale");
  const float high = grid.Float("high") * grid.Float("scale");
  return clamp.op == "clamp" && clamp.fused.empty() &&
         clamp.attributes.Float("low") <= low + half_a_step &&
         clamp.attributes.Float("high") >= high - half_a_step;
}

}  // namespace

int RemoveRedundantRounding(Graph* graph) {
  Grids grids(graph->values.size(), nullptr);
  std::vector<int> idle, producer(graph->values.size(), -1);
  int changes = 0;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    Node& node = graph->nodes[i];
    for (ValueId output : node.outputs) producer[static_cast<size_t>(output)] = static_cast<int>(i);
    if (Rounds(node)) {
      const size_t from = static_cast<size_t>(node.inputs[0]);
      if (grids[from] && AreSame(*grids[from], node.attributes))
        idle.push_back(static_cast<int>(i));
      const int before = producer[from];
      if (before >= 0 && IsIdle(graph->nodes[static_cast<size_t>(before)], node.attributes)) {
        const Node& clamp = graph->nodes[static_cast<size_t>(before)];
        AddSources(clamp, &node);
        node.inputs[0] = clamp.inputs[0];
        ++changes;
      }
    }
    const Attributes* grid = GridAfter(*graph, node, grids);
    for (ValueId output : node.outputs) grids[static_cast<size_t>(output)] = grid;
  }
  for (size_t i = idle.size(); i-- > 0;) {
    if (Bypass(graph, idle[i])) ++changes;
  }
  if (changes) RemoveDeadNodes(graph);
  return changes;
}

}  // namespace quadra
