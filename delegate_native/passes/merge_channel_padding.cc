// Zeros after the channels of a tensor that is only added to others (the skip paths of BlazeFace
// and its kin): the addition reads what was padded and takes its missing channels for zero.
#include <algorithm>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

bool AppendsZeroChannels(const Graph& graph, const Node& node) {
  if (node.op != "pad" || !node.fused.empty()) return false;
  if (node.attributes.Int("axes") > 4 || !PadsWithZeros(node.attributes)) return false;
  if (PadsAxis(node, 0) || PadsAxis(node, 1) || PadsAxis(node, 2)) return false;
  // A single channel would be broadcast.
  return PaddingOf(node.attributes, 3).before == 0 && graph.shape(node.inputs[0]).c > 1;
}

// The other operand of an addition of two equal shapes that reads `padded` once; -1 otherwise.
ValueId OtherTerm(const Graph& graph, const Node& node, ValueId padded) {
  if (node.op != "add" || node.inputs.size() != 2 || !node.fused.empty()) return -1;
  const ValueId other = node.inputs[node.inputs[0] == padded ? 1 : 0];
  const bool equal = other != padded && graph.shape(other) == graph.shape(padded) &&
                     !node.attributes.Has("pad_channels");
  return equal ? other : -1;
}

}  // namespace

int MergeChannelPadding(Graph* graph) {
  int changes = 0;
  for (size_t i = 0; i < graph->nodes.size();) {
    const Node pad = graph->nodes[i];
    const ValueId padded = pad.outputs[0];
    std::vector<int> readers;
    if (AppendsZeroChannels(*graph, pad)) readers = graph->Consumers(padded);
    const bool merges = !readers.empty() && !graph->IsOutput(padded) &&
                        std::all_of(readers.begin(), readers.end(), [&](int reader) {
                          const Node& node = graph->nodes[static_cast<size_t>(reader)];
                          return OtherTerm(*graph, node, padded) >= 0;
                        });
    if (!merges) {
      ++i;
      continue;
    }
    for (int reader : readers) {
      Node& add = graph->nodes[static_cast<size_t>(reader)];
      add.inputs = {OtherTerm(*graph, add, padded), pad.inputs[0]};
      add.attributes.SetInt("pad_channels", 1);
      AddSources(pad, &add);
    }
    graph->RemoveNode(static_cast<int>(i));
    ++changes;
  }
  return changes;
}

}  // namespace quadra
