#include "delegate_native/passes/rewrite.h"

#include <algorithm>
#include <utility>

#include "delegate_native/base/lean/sorted.h"

namespace quadra {
namespace {

bool RankMatters(const Graph& graph, ValueId id) {
  for (int consumer : graph.Consumers(id)) {
    if (OpOf(graph.nodes[static_cast<size_t>(consumer)]).asks_for_rank) return true;
  }
  return false;
}

}  // namespace

const Op& OpOf(const Node& node) {
  static const Op unknown;
  const Op* op = FindOp(node.op);
  return op ? *op : unknown;
}

bool IsConvolution(const Node& node) { return OpOf(node).convolution != Convolution::kNone; }

bool SlidesWindow(const Node& node) {
  const Convolution convolution = OpOf(node).convolution;
  return convolution == Convolution::kDense || convolution == Convolution::kDepthwise;
}

bool IsPixelConvolution(const Graph& graph, const Node& node) {
  if (OpOf(node).convolution != Convolution::kDense) return false;
  const Shape& weights = graph.shape(node.inputs[1]);
  const Shape &in = graph.shape(node.inputs[0]), &out = graph.shape(node.outputs[0]);
  return weights.h == 1 && weights.w == 1 && in.h == out.h && in.w == out.w &&
         !WindowOf(graph, node).pads();
}

int CountUses(const Graph& graph, ValueId id) {
  const auto in = [id](const std::vector<ValueId>& ids) {
    return std::count(ids.begin(), ids.end(), id);
  };
  std::ptrdiff_t uses = in(graph.outputs);
  for (const Node& node : graph.nodes) {
    uses += in(node.inputs);
    for (const FusedStep& step : node.fused) uses += in(step.inputs);
  }
  return static_cast<int>(uses);
}

bool ReadsConstant(const Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) { return graph.IsConstant(id); });
}

bool ChannelValues(const Graph& graph, ValueId id, const Shape& shape, std::vector<float>* values) {
  if (!graph.IsConstant(id) || !IsFloat(graph.value(id).element)) return false;
  const Constant& data = *graph.value(id).constant;
  const size_t channels = static_cast<size_t>(shape.c);
  if (data.size() == 1) {
    values->assign(channels, data.front());
    return true;
  }
  if (data.size() != channels || graph.shape(id).c != shape.c) return false;
  *values = *data.floats();
  return true;
}

bool PadsWithZeros(const Attributes& attributes) {
  return attributes.Has("value") && attributes.Float("value") == 0.0f;
}

bool PadsAxis(const Node& node, int axis) {
  const Padding padding = PaddingOf(node.attributes, axis);
  return padding.before != 0 || padding.after != 0;
}

Window WindowOf(const Graph& graph, const Node& node) {
  Window window;
  const Shape& weights = graph.shape(node.inputs[1]);
  // Shape inference has resolved it once: it cannot fail.
  (void)ResolveWindow(node.attributes, weights.h, weights.w, graph.shape(node.inputs[0]), &window);
  return window;
}

Makers::Makers(const Graph& graph)
    : graph_(&graph), maker_(graph.values.size(), -1), uses_(graph.values.size(), 0) {
  for (ValueId id : graph.outputs) ++uses_[static_cast<size_t>(id)];
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId id : graph.nodes[i].outputs) maker_[static_cast<size_t>(id)] = static_cast<int>(i);
    for (ValueId id : Operands(graph.nodes[i])) ++uses_[static_cast<size_t>(id)];
  }
}

const Node* Makers::Of(ValueId id) {
  const int at = IndexOf(id);
  if (at < 0 || !graph_->nodes[static_cast<size_t>(at)].fused.empty()) return nullptr;
  used.push_back(&graph_->nodes[static_cast<size_t>(at)]);
  return used.back();
}

const Node* Makers::Of(ValueId id, const char* op) {
  const Node* node = Of(id);
  if (!node || node->op == op) return node;
  used.pop_back();
  return nullptr;
}

const Node* Makers::Only(ValueId id, const char* op) {
  return uses_[static_cast<size_t>(id)] == 1 ? Of(id, op) : nullptr;
}

bool Makers::IsNumber(ValueId id, float* number) const {
  const Value& value = graph_->value(id);
  if (!value.constant || value.constant->size() != 1 || !IsFloat(value.element)) return false;
  *number = value.constant->front();
  return true;
}

void AddSources(const Node& from, Node* node) {
  std::vector<int>& sources = node->sources;
  sources.insert(sources.end(), from.sources.begin(), from.sources.end());
  SortOnce(&sources);
}

bool Bypass(Graph* graph, int i) {
  const Node& node = graph->nodes[static_cast<size_t>(i)];
  const ValueId from = node.inputs[0], to = node.outputs[0];
  if (graph->value(from).rank != graph->value(to).rank && RankMatters(*graph, to)) return false;
  // A graph output needs a node that computes it, and a value is one output only.
  if (graph->IsOutput(to) && (graph->Producer(from) < 0 || graph->IsOutput(from))) return false;
  graph->RemoveNode(i);
  graph->ReplaceUses(to, from);
  for (auto& tensor : graph->tensors) {
    if (tensor.second == to) tensor.second = from;  // it has the same numbers
  }
  return true;
}

ValueId AddDense(Graph* graph, ValueId like, std::string name, int copy_of) {
  Value value;
  value.name = std::move(name);
  value.shape = graph->shape(like);
  value.rank = graph->value(like).rank;
  if (!IsFloat(graph->value(like).element)) value.element = Element::kInt32;
  value.dense = true;
  value.copy_of = copy_of;
  return graph->AddValue(std::move(value));
}

Node& AddCopy(const Graph& graph, ValueId from, ValueId to, std::vector<Node>* nodes) {
  Node node;
  node.op = "copy";
  node.inputs = {from};
  node.outputs = {to};
  node.float32 = graph.value(from).float32;
  nodes->push_back(std::move(node));
  return nodes->back();
}

Node& AddCopyOf(ValueId from, int copy_of, size_t at, Graph* graph, std::vector<Node>* nodes) {
  Node& node = AddCopy(*graph, from, AddDense(graph, from, "copy", copy_of), nodes);
  node.sources = (*nodes)[at].sources;
  return node;
}

int RemoveDeadNodes(Graph* graph) {
  int removed = 0;
  for (size_t i = graph->nodes.size(); i-- > 0;) {
    const std::vector<ValueId>& outputs = graph->nodes[i].outputs;
    const auto is_dead = [&](ValueId id) { return CountUses(*graph, id) == 0; };
    if (!std::all_of(outputs.begin(), outputs.end(), is_dead)) continue;
    graph->RemoveNode(static_cast<int>(i));
    ++removed;
  }
  return removed;
}

bool Filters::Read(const Graph& graph, const Node& node, Filters* filters) {
  if (!IsConvolution(node) || !graph.IsConstant(node.inputs[1]) || KeepsStored(graph, node))
    return false;
  filters->shape_ = graph.shape(node.inputs[1]);
  filters->weights_ = *graph.value(node.inputs[1]).constant->floats();
  filters->depthwise_ = OpOf(node).convolution == Convolution::kDepthwise;
  const int inputs = graph.shape(node.inputs[0]).c;
  const int outputs = graph.shape(node.outputs[0]).c;
  filters->multiplier_ = std::max(1, outputs / inputs);
  filters->outputs_per_group_ = std::max(1, outputs * filters->shape_.c / inputs);
  filters->bias_.assign(static_cast<size_t>(outputs), 0.0f);
  if (node.inputs.size() < 3) return true;
  if (!graph.IsConstant(node.inputs[2])) return false;
  filters->bias_ = *graph.value(node.inputs[2]).constant->floats();
  return true;
}

void Filters::Write(Graph* graph, Node* node) const {
  // Copied: adding a constant moves the values.
  const std::string name = graph->value(node->inputs[1]).name;
  node->inputs[1] = graph->AddConstant(name, shape_, weights_);
  node->inputs.resize(3);
  node->inputs[2] = graph->AddConstant(name + "/bias", {1, 1, 1, outputs()}, bias_, 1);
}

}  // namespace quadra
