// Zeros around an image before a convolution: the convolution pads by itself. Padding of
// channels stays, and so does padding before pools, which leave cells outside the image out.
#include <algorithm>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

bool PadsImageWithZeros(const Node& node) {
  if (node.op != "pad" || !node.fused.empty()) return false;
  if (node.attributes.Int("axes") > 4 || !PadsWithZeros(node.attributes)) return false;
  return !PadsAxis(node, 0) && !PadsAxis(node, 3);
}

bool IsReadByConvolutionsOnly(const Graph& graph, ValueId id) {
  if (graph.IsOutput(id)) return false;
  const std::vector<int> consumers = graph.Consumers(id);
  return std::all_of(consumers.begin(), consumers.end(), [&](int i) {
    const Node& node = graph.nodes[static_cast<size_t>(i)];
    const std::vector<ValueId> operands = Operands(node);
    return SlidesWindow(node) && node.inputs[0] == id &&
           std::count(operands.begin(), operands.end(), id) == 1;
  });
}

}  // namespace

int FoldPadding(Graph* graph) {
  int changes = 0;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    const Node pad = graph->nodes[i];
    if (!PadsImageWithZeros(pad) || !IsReadByConvolutionsOnly(*graph, pad.outputs[0])) continue;
    const Padding y = PaddingOf(pad.attributes, 1), x = PaddingOf(pad.attributes, 2);
    for (int consumer : graph->Consumers(pad.outputs[0])) {
      Node& node = graph->nodes[static_cast<size_t>(consumer)];
      const Window own = WindowOf(*graph, node);
      node.attributes.SetWord("padding", "explicit");
      node.attributes.SetInts("pad", {own.pad_top + y.before, own.pad_bottom + y.after,
                                      own.pad_left + x.before, own.pad_right + x.after});
      node.inputs[0] = pad.inputs[0];
      AddSources(pad, &node);
    }
    graph->RemoveNode(static_cast<int>(i--));
    ++changes;
  }
  return changes;
}

}  // namespace quadra
