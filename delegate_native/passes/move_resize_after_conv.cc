// A convolution of single pixels after an enlarging RESIZE_BILINEAR: interpolation weights sum to
// one, so the smaller image can be convolved first, with fewer pixels to convolve and no more
// channels to interpolate.
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

// Index of the resize that can change places with the convolution at `i`; -1 if there is none.
int FindResize(const Graph& graph, size_t i) {
  const Node& conv = graph.nodes[i];
  if (!IsPixelConvolution(graph, conv) || !conv.fused.empty()) return -1;
  const int found = graph.Producer(conv.inputs[0], static_cast<int>(i));
  if (found < 0) return -1;
  const Node& resize = graph.nodes[static_cast<size_t>(found)];
  if (resize.op != "resize_bilinear" || !resize.fused.empty()) return -1;
  if (CountUses(graph, conv.inputs[0]) != 1) return -1;
  const Shape &in = graph.shape(resize.inputs[0]), &out = graph.shape(conv.outputs[0]);
  return in.h * in.w < out.h * out.w && out.c <= in.c ? found : -1;
}

}  // namespace

int MoveResizeAfterConv(Graph* graph) {
  int changes = 0;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    const int found = FindResize(*graph, i);
    if (found < 0) continue;
    Node &conv = graph->nodes[i], &resize = graph->nodes[static_cast<size_t>(found)];
    Value small = graph->value(conv.outputs[0]);
    small.name += "/small";
    small.shape.h = graph->shape(resize.inputs[0]).h;
    small.shape.w = graph->shape(resize.inputs[0]).w;
    conv.inputs[0] = std::exchange(resize.inputs[0], graph->AddValue(small.name, small.shape));
    resize.outputs = std::exchange(conv.outputs, resize.inputs);
    std::swap(conv, resize);
    ++changes;
  }
  return changes;
}

}  // namespace quadra
