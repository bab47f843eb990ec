// A reshape that lays pixels in a row, nodes that compute each pixel by itself, and the reshape
// back: PyTorch's converter normalizes the channels of an image so. The nodes compute on the image.
#include <algorithm>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"
#include "delegate_native/passes/transposes.h"

namespace quadra {
namespace {

bool IsReshape(const Node& node) { return node.op == "reshape" && node.fused.empty(); }

// Whether the node makes each pixel of its result from that pixel of its first input and constants
// that are the same for all.
bool IsOfPixels(const Graph& graph, const Node& node) {
  if (!node.fused.empty() || node.outputs.size() != 1) return false;
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  if (IsPixelConvolution(graph, node)) return graph.IsConstant(node.inputs[1]);
  if (in != out || (node.op != "norm" && node.op != "softmax" && !OpOf(node).formula)) return false;
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ValueId id) {
    const Shape& shape = graph.shape(id);
    return graph.IsConstant(id) && shape.elements() == shape.c;
  });
}

// The nodes from behind a reshape of an image to before node `last`, a reshape that makes the image
// again, the last one first; empty: it is no such reshape.
std::vector<int> Chain(const Graph& graph, int last, ValueId* image) {
  std::vector<int> chain;
  const Shape& wanted = graph.shape(graph.nodes[static_cast<size_t>(last)].outputs[0]);
  for (int at = last;;) {
    const ValueId id = graph.nodes[static_cast<size_t>(at)].inputs[0];
    at = graph.Producer(id, at);
    if (at < 0) return {};
    const Node& node = graph.nodes[static_cast<size_t>(at)];
    if (IsReshape(node)) {
      *image = node.inputs[0];
      Shape shape = graph.shape(*image);
      const bool keeps_channels = shape.c == graph.shape(node.outputs[0]).c;
      shape.c = wanted.c;
      return keeps_channels && shape == wanted ? chain : std::vector<int>();
    }
    if (!IsOfPixels(graph, node) || CountUses(graph, id) > 1) return {};
    chain.push_back(at);
  }
}

}  // namespace

int RemovePixelReshapes(Graph* graph) {
  int changes = 0;
  for (int i = 0; i < static_cast<int>(graph->nodes.size()); ++i) {
    const Node last = graph->nodes[static_cast<size_t>(i)];
    if (!IsReshape(last) || graph->shape(last.inputs[0]).c != graph->shape(last.outputs[0]).c) {
      continue;
    }
    ValueId image = -1;
    std::vector<int> chain = Chain(*graph, i, &image);
    if (chain.empty()) continue;
    std::reverse(chain.begin(), chain.end());
    const int rank = graph->value(last.outputs[0]).rank;
    for (int at : chain) {
      Node& node = graph->nodes[static_cast<size_t>(at)];
      node.inputs[0] = image;
      Shape shape = graph->shape(image);
      shape.c = graph->shape(node.outputs[0]).c;
      image = at == chain.back() ? last.outputs[0] : AddShaped(graph, node.outputs[0], shape, rank);
      node.outputs = {image};
      if (OpOf(node).convolution != Convolution::kNone) node.attributes.SetInt("rank", rank);
    }
    AddSources(last, &graph->nodes[static_cast<size_t>(chain.back())]);
    graph->RemoveNode(i--);
    ++changes;
  }
  if (changes > 0) RemoveUnread(graph);
  return changes;
}

}  // namespace quadra
