// GroupNorm with channels first, as PyTorch's converter writes it, becomes `group_norm`, which has
// them last, between two transposes; merge_transposes.cc merges these with a convolution's.
//   x * s + (term - mean * s)   where s = factor / sqrt(mean((g - mean)^2) + epsilon)
// and g is x with a group's channels and pixels as rows. Without factors it is group_norm of g's
// rows already (fuse_norm.cc), between two reshapes; InstanceNorm is that of x's rows.
#include <iterator>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"
#include "delegate_native/passes/transposes.h"

namespace quadra {
namespace {

struct GroupNorm {
  ValueId src = -1, rows = -1;     // x, and g
  ValueId factor = -1, term = -1;  // of channels; -1: there is none
  float epsilon = 0.0f;
};

class Search {
 public:
  Search(const Graph& graph, Makers* makers) : graph_(graph), makers_(*makers) {}

  bool Find(const Node& last) {
    for (size_t i = 0; i < 4; ++i) {
      makers_.used.clear();
      found = GroupNorm();
      const Node* mul = makers_.Of(last.inputs[i / 2], "mul");
      if (!mul) continue;
      found.src = mul->inputs[i % 2];
      if (FindScale(mul->inputs[1 - i % 2]) && FindTerm(last.inputs[1 - i / 2]) && IsWhole()) {
        return true;
      }
    }
    return false;
  }
  GroupNorm found;

 private:
  ValueId Unshaped(ValueId id) {
    while (const Node* node = makers_.Of(id, "reshape")) id = node->inputs[0];
    return id;
  }
  // Whether it is [batches, groups, width, 1].
  bool HasShape(ValueId id, int batches, int width) const {
    const Shape& shape = graph_.shape(id);
    return shape.b == batches && shape.h == graph_.shape(found.rows).h && shape.w == width &&
           shape.c == 1;
  }
  bool IsOfGroups(ValueId id) const { return HasShape(id, graph_.shape(found.rows).b, 1); }
  bool IsOfBatches(ValueId id) const {
    const Shape& rows = graph_.shape(found.rows);
    return HasShape(id, rows.b, rows.w);
  }
  bool IsOfChannels(ValueId id) const {
    return graph_.IsConstant(id) && HasShape(id, 1, graph_.shape(found.rows).w);
  }
  // A mean of the last two axes.
  ValueId SourceOfMean(ValueId id) {
    const Node* mean = makers_.Of(Unshaped(id), "mean");
    if (!mean || graph_.value(mean->inputs[0]).rank != 4) return -1;
    const std::vector<int>& axes = mean->attributes.Ints("axes");
    return axes == std::vector<int>{2, 3} ? mean->inputs[0] : -1;
  }

  // 1 / sqrt(mean((g - mean)^2) + epsilon)
  bool FindRoot(ValueId id) {
    const Node* root = makers_.Of(id, "rsqrt");
    const Node* add = root ? makers_.Of(Unshaped(root->inputs[0]), "add") : nullptr;
    if (!add || !makers_.IsNumber(add->inputs[1], &found.epsilon)) return false;
    const Node* square = makers_.Of(SourceOfMean(add->inputs[0]));
    if (!square || found.epsilon < 0.0f) return false;
    const bool is_square =
        square->op == "square" || (square->op == "mul" && square->inputs[0] == square->inputs[1]);
    const Node* sub = is_square ? makers_.Of(square->inputs[0], "sub") : square;
    if (!is_square && square->op != "squared_difference") return false;
    if (!sub) return false;
    found.rows = sub->inputs[0];
    mean_ = Unshaped(sub->inputs[1]);
    root_ = id;
    return SourceOfMean(mean_) == found.rows && IsOfGroups(sub->inputs[1]) && IsOfGroups(id);
  }
  // The root, of each channel: times a factor perhaps.
  bool FindScale(ValueId id) {
    scale_ = Unshaped(id);
    const Node* node = makers_.Of(scale_);
    if (!node) return false;
    if (node->op == "rsqrt") return FindRoot(scale_);
    if (node->op == "tile") return FindRoot(node->inputs[0]) && IsOfBatches(scale_);
    for (size_t i = 0; node->op == "mul" && i < 2; ++i) {
      found.factor = node->inputs[i];
      if (!graph_.IsConstant(found.factor)) continue;
      return FindRoot(node->inputs[1 - i]) && IsOfBatches(scale_) && IsOfChannels(found.factor);
    }
    return false;
  }
  // -mean
  bool IsNegated(ValueId id) {
    float number = 0.0f;
    const Node* neg = makers_.Of(Unshaped(id));
    if (!neg || Unshaped(neg->inputs[0]) != mean_) return false;
    return neg->op == "neg" ||
           (neg->op == "mul" && makers_.IsNumber(neg->inputs[1], &number) && number == -1.0f);
  }
  // -mean * s, by the scale or, where there is no factor, by the root.
  bool IsShift(ValueId id) {
    const Node* mul = makers_.Of(id, "mul");
    for (size_t i = 0; mul && i < 2; ++i) {
      const ValueId scale = Unshaped(mul->inputs[1 - i]);
      if ((scale == scale_ || (found.factor < 0 && scale == root_)) && IsNegated(mul->inputs[i])) {
        return true;
      }
    }
    return false;
  }
  bool FindTerm(ValueId id) {
    const ValueId sum = Unshaped(id);
    if (IsShift(sum)) return true;
    const Node* add = makers_.Of(sum, "add");
    for (size_t i = 0; add && i < 2; ++i) {
      found.term = add->inputs[i];
      if (IsOfChannels(found.term)) {
        return IsShift(add->inputs[1 - i]);
      }
    }
    return false;
  }

  // Whether g is all of x, of groups of its channels, and the operands are one number of each.
  bool IsWhole() {
    const Shape& rows = graph_.shape(found.rows);
    const Value& src = graph_.value(found.src);
    return Unshaped(found.rows) == Unshaped(found.src) && src.rank >= 3 && src.rank <= 5 &&
           SizeOf(src, 0) == rows.b && SizeOf(src, 1) == rows.h * rows.w;
  }

  const Graph& graph_;
  Makers& makers_;
  ValueId scale_ = -1, root_ = -1, mean_ = -1;
};

// Adds the nodes of a norm over `groups` of the channels of `found.src`; the last one makes `to`.
std::vector<Node> NodesOf(const GroupNorm& found, int groups, ValueId to, Graph* graph) {
  const Value src = graph->value(found.src);
  const Order order = ChannelsToLast(src.rank);
  const Shape shape = Transposed(src, order);
  std::vector<Node> nodes;
  nodes.push_back(TransposeOf(found.src, order, AddShaped(graph, to, shape, src.rank)));
  const auto add = [&](const char* op, ValueId operand) {
    Node node;
    node.op = op;
    node.inputs = nodes.back().outputs;
    if (operand >= 0) {
      Value value = graph->value(operand);
      value.shape = Shape();
      value.shape.c = shape.c;
      value.rank = 1;
      node.inputs.push_back(graph->AddValue(std::move(value)));
    }
    node.outputs = {AddShaped(graph, to, shape, src.rank)};
    nodes.push_back(std::move(node));
  };
  add("group_norm", -1);
  Attributes& attributes = nodes.back().attributes;
  attributes.SetFloat("epsilon", found.epsilon);
  attributes.SetInt("groups", groups);
  attributes.SetInt("axes", src.rank - 1);
  if (found.factor >= 0) add("mul", found.factor);
  if (found.term >= 0) add("add", found.term);
  nodes.push_back(TransposeOf(nodes.back().outputs[0], Inverted(order), to));
  return nodes;
}

// A norm of rows, node i, perhaps between reshapes, of x with channels first, which a transpose
// makes: the index of the node that makes the last result; -1: it is none.
int FindRows(const Graph& graph, int i, Makers* makers, GroupNorm* found) {
  makers->used.clear();
  const Node& norm = graph.nodes[static_cast<size_t>(i)];
  if (norm.attributes.Int("groups") != 1 || norm.attributes.Int("axes") != 2) return -1;
  found->rows = found->src = norm.inputs[0];
  found->epsilon = norm.attributes.Float("epsilon");
  int last = i;
  if (const Node* before = makers->Of(found->rows, "reshape")) {
    found->src = before->inputs[0];
    const std::vector<int> readers = graph.Consumers(norm.outputs[0]);
    if (readers.size() != 1 || graph.IsOutput(norm.outputs[0])) return -1;
    last = readers[0];
    if (graph.nodes[static_cast<size_t>(last)].op != "reshape") return -1;
  }
  const Node& end = graph.nodes[static_cast<size_t>(last)];
  const Value& src = graph.value(found->src);
  const Shape& rows = graph.shape(found->rows);
  const bool fits = graph.value(found->rows).rank == 4 && end.fused.empty() &&
                    graph.shape(end.outputs[0]) == src.shape && src.rank >= 3 && src.rank <= 5 &&
                    SizeOf(src, 0) == rows.b &&
                    SizeOf(src, 1) == (last == i ? rows.h : rows.h * rows.w);
  return fits && makers->Of(found->src, "transpose") ? last : -1;
}

}  // namespace

int FuseGroupNorm(Graph* graph, const Fits& fits) {
  int changes = 0;
  Makers makers(*graph);
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    const Node node = graph->nodes[i];
    int last = -1;
    GroupNorm found;
    if (node.op == "add" && node.fused.empty()) {
      Search search(*graph, &makers);
      if (search.Find(node)) last = static_cast<int>(i);
      found = search.found;
    } else if (node.op == "group_norm" && node.fused.empty()) {
      last = FindRows(*graph, static_cast<int>(i), &makers, &found);
    }
    if (last < 0) continue;
    Node whole = node;
    for (const Node* used : makers.used) AddSources(*used, &whole);
    const ValueId to = graph->nodes[static_cast<size_t>(last)].outputs[0];
    std::vector<Node> nodes = NodesOf(found, graph->shape(found.rows).h, to, graph);
    if (fits && !fits(*graph, nodes[1])) continue;
    for (Node& made : nodes) made.sources = whole.sources;
    graph->nodes.erase(graph->nodes.begin() + last);
    graph->nodes.insert(graph->nodes.begin() + last, std::make_move_iterator(nodes.begin()),
                        std::make_move_iterator(nodes.end()));
    makers = Makers(*graph);
    ++changes;
  }
  if (changes > 0) RemoveUnread(graph);
  return changes;
}

}  // namespace quadra
