// An average over the whole image is a mean, which sums with more than one work-item per channel.
#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {

int ReplaceGlobalPool(Graph* graph) {
  int changes = 0;
  for (Node& node : graph->nodes) {
    if (node.op != "average_pool2d") continue;
    const Shape &in = graph->shape(node.inputs[0]), &out = graph->shape(node.outputs[0]);
    if (out.h != 1 || out.w != 1 || !ResolvePadding(*graph, node).none()) continue;
    if (node.attributes.Ints("filter") != std::vector<int>{in.h, in.w}) continue;
    node.op = "mean";
    node.attributes = Attributes();
    node.attributes.SetInts("axes", {1, 2});
    node.attributes.SetInt("keep_dims", 1);
    ++changes;
  }
  return changes;
}

}  // namespace quadra
