// A convolution of single pixels over a concatenation of channels, some of which are the same at
// every pixel (an image of one pixel, resized): their share of the sum is the same at every pixel,
// too. It is computed once and added to the convolution of the other channels. Roundings of the
// resized image are those of its pixel.
#include <algorithm>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

// The single pixel that the value repeats, and how it is rounded then, the last first; -1 for other
// values.
ValueId UniformSource(const Graph& graph, ValueId id, std::vector<Node>* roundings) {
  const int producer = graph.Producer(id);
  if (producer < 0) return -1;
  const Node& node = graph.nodes[static_cast<size_t>(producer)];
  if (!node.fused.empty()) return -1;
  if (node.op == "requantize" || node.op == "copy") {
    roundings->push_back(node);
    return UniformSource(graph, node.inputs[0], roundings);
  }
  if (node.op != "resize_bilinear") return -1;
  const Shape& in = graph.shape(node.inputs[0]);
  return in.h == 1 && in.w == 1 ? node.inputs[0] : -1;
}

// Weights of the input channels first … first + count.
std::vector<float> TakeChannels(const std::vector<float>& weights, int channels, int first,
                                int count) {
  std::vector<float> taken;
  for (auto row = weights.begin(); row != weights.end(); row += channels) {
    taken.insert(taken.end(), row + first, row + first + count);
  }
  return taken;
}

std::vector<float> DropChannels(const std::vector<float>& weights, int channels, int first,
                                int count) {
  std::vector<float> kept;
  for (auto row = weights.begin(); row != weights.end(); row += channels) {
    kept.insert(kept.end(), row, row + first);
    kept.insert(kept.end(), row + first + count, row + channels);
  }
  return kept;
}

// The concatenation behind the convolution, if it can be split; null otherwise.
const Node* FindConcat(const Graph& graph, size_t i) {
  const Node& conv = graph.nodes[i];
  if (!IsPixelConvolution(graph, conv) || !graph.IsConstant(conv.inputs[1])) return nullptr;
  const Shape &in = graph.shape(conv.inputs[0]), &weights = graph.shape(conv.inputs[1]);
  const int producer = graph.Producer(conv.inputs[0], static_cast<int>(i));
  if (producer < 0 || weights.c != in.c || in.h * in.w == 1) return nullptr;
  const Node& concat = graph.nodes[static_cast<size_t>(producer)];
  const bool fits = concat.op == "concat" && concat.fused.empty() && concat.inputs.size() > 1 &&
                    concat.attributes.Int("axis") == 3 && CountUses(graph, conv.inputs[0]) == 1;
  return fits ? &concat : nullptr;
}

// Takes operand `at` of the concatenation out of the convolution at node `i`.
void Split(Graph* graph, size_t i, const Node& concat, size_t at) {
  const Node conv = graph->nodes[i];
  std::vector<Node> made;
  ValueId pixel = UniformSource(*graph, concat.inputs[at], &made);
  const Value weights = graph->value(conv.inputs[1]);
  const Value result = graph->value(conv.outputs[0]);
  int first = 0;
  for (size_t k = 0; k < at; ++k) first += graph->shape(concat.inputs[k]).c;
  const int count = graph->shape(pixel).c;

  std::reverse(made.begin(), made.end());
  for (Node& rounding : made) {
    rounding.inputs = {pixel};
    pixel = graph->AddValue(result.name + "/pixel", graph->shape(pixel));
    rounding.outputs = {pixel};
  }
  Node uniform = conv;
  uniform.fused.clear();
  uniform.inputs = {
      pixel,
      graph->AddConstant(weights.name + "/uniform", {weights.shape.b, 1, 1, count},
                         TakeChannels(*weights.constant->floats(), weights.shape.c, first, count))};
  uniform.outputs = {
      graph->AddValue(result.name + "/uniform", {result.shape.b, 1, 1, result.shape.c})};
  Node rest = concat;
  rest.inputs.erase(rest.inputs.begin() + static_cast<std::ptrdiff_t>(at));
  Shape rest_shape = graph->shape(concat.outputs[0]);
  rest_shape.c -= count;
  rest.outputs = {graph->AddValue(result.name + "/rest", rest_shape)};
  Node main = conv;
  main.fused.clear();
  main.inputs[0] = rest.outputs[0];
  main.inputs[1] =
      graph->AddConstant(weights.name + "/rest", {weights.shape.b, 1, 1, weights.shape.c - count},
                         DropChannels(*weights.constant->floats(), weights.shape.c, first, count));
  main.outputs = {graph->AddValue(result.name + "/main", result.shape)};
  Node sum = conv;
  sum.op = "add";
  sum.attributes = Attributes();
  sum.inputs = {main.outputs[0], uniform.outputs[0]};

  const auto place = graph->nodes.begin() + static_cast<std::ptrdiff_t>(i);
  const auto after = graph->nodes.erase(place);
  made.insert(made.end(), {std::move(uniform), std::move(rest), std::move(main), std::move(sum)});
  graph->nodes.insert(after, made.begin(), made.end());
}

}  // namespace

int SplitConvOfConcat(Graph* graph) {
  int changes = 0;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    const Node* found = FindConcat(*graph, i);
    if (!found) continue;
    const Node concat = *found;
    const auto uniform = std::find_if(concat.inputs.begin(), concat.inputs.end(), [&](ValueId id) {
      std::vector<Node> roundings;
      return UniformSource(*graph, id, &roundings) >= 0;
    });
    if (uniform == concat.inputs.end()) continue;
    Split(graph, i, concat, static_cast<size_t>(uniform - concat.inputs.begin()));
    ++changes;
  }
  if (changes > 0) RemoveDeadNodes(graph);
  return changes;
}

}  // namespace quadra
