// A rope of few pixels whose numbers an RMSNorm has made, with a factor of each channel, takes what
// the norm takes: heads of a decoder's step. With more pixels each is enough work for a GPU.
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

constexpr int64_t kMostPixels = 64;

// Whether the constant is a factor of each channel.
bool IsOfChannels(const Graph& graph, ValueId id, const Shape& shape) {
  return graph.IsConstant(id) && graph.shape(id).c == shape.c &&
         graph.shape(id).elements() == shape.c;
}

// The norm of a product with such factors; null: there is none.
const Node* FindNorm(const Graph& graph, ValueId id, Makers* makers, ValueId* factors) {
  const Node* mul = makers->Only(id, "mul");
  for (size_t i = 0; mul && i < 2; ++i) {
    *factors = mul->inputs[1 - i];
    const Node* norm = makers->Only(mul->inputs[i], "norm");
    if (!norm) continue;
    const bool fits = norm->attributes.Int("centered", 0) == 0 &&
                      IsOfChannels(graph, *factors, graph.shape(norm->inputs[0])) &&
                      graph.shape(norm->inputs[0]) == graph.shape(id);
    return fits ? norm : nullptr;
  }
  return nullptr;
}

}  // namespace

int FuseRopeOfNorm(Graph* graph, const Fits& fits) {
  int changes = 0;
  Makers makers(*graph);
  for (Node& node : graph->nodes) {
    const Shape& shape = graph->shape(node.outputs[0]);
    if (node.op != "rope" || node.attributes.Has("epsilon") ||
        shape.elements() / shape.c > kMostPixels) {
      continue;
    }
    makers.used.clear();
    const Node* reshape = makers.Only(node.inputs[0], "reshape");
    const ValueId normed = reshape ? reshape->inputs[0] : node.inputs[0];
    ValueId factors;
    const Node* norm = FindNorm(*graph, normed, &makers, &factors);
    if (!norm || graph->shape(normed).c != shape.c) continue;
    Node rope = node;
    rope.inputs.push_back(factors);
    rope.attributes.SetFloat("epsilon", norm->attributes.Float("epsilon"));
    if (!reshape) rope.inputs[0] = norm->inputs[0];
    for (const Node* used : makers.used) {
      if (used != reshape) AddSources(*used, &rope);
    }
    if (fits && !fits(*graph, rope)) continue;
    if (reshape)
      graph->nodes[static_cast<size_t>(makers.IndexOf(node.inputs[0]))].inputs = norm->inputs;
    node = std::move(rope);
    makers = Makers(*graph);
    ++changes;
  }
  if (changes > 0) RemoveUnread(graph);
  return changes;
}

}  // namespace quadra
