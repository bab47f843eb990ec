// Attention as converters write it, a product, masks, SOFTMAX and another product, becomes the op
// `attention`, which reads what transposes would bring into order where it lies. Shifted windows
// add two terms to their scores, a bias of each head and a mask of each window.
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

// Numbers of the op's attribute `layouts`.
constexpr int kHeadsFirst = 0, kRowsFirst = 1, kColumns = 2;
// q, k, v and two terms.
constexpr size_t kMostInputs = 5;

// Whether it orders four axes so; the first one stays.
bool HasOrder(const Node& transpose, int h, int w, int c) {
  const std::vector<int>& order = transpose.attributes.Ints("order");
  return order.size() == 4 && order[0] == 0 && order[1] == h && order[2] == w && order[3] == c;
}

class Search {
 public:
  Search(const Graph& graph, Makers* makers) : graph_(graph), makers_(*makers) {}

  // `last`: the product with v.
  bool Find(const Node& last, Node* node) {
    const Node* softmax = makers_.Only(last.inputs[0], "softmax");
    if (!softmax || softmax->attributes.Float("beta") != 1.0f) return false;
    const ValueId scores = softmax->inputs[0];
    if (!FindScores(scores)) return false;
    node->inputs = {q_, k_, Untransposed(last.inputs[1], IsOfColumns(last), &layouts_[2])};
    node->inputs.insert(node->inputs.end(), terms_.begin(), terms_.end());
    return IsForTheOp(graph_.shape(scores), graph_.shape(last.outputs[0]), *node);
  }
  float scale() const { return scale_; }
  const std::vector<int>& layouts() const { return layouts_; }

 private:
  static bool IsOfColumns(const Node& product) {
    return product.attributes.Int("columns_of_b") != 0;
  }

  // Goes through a transpose of matrices of rows, or of columns, one for each head: to its source,
  // and how that lies.
  ValueId Untransposed(ValueId id, bool columns, int* layout) {
    *layout = columns ? kColumns : kHeadsFirst;
    const Node* transpose = makers_.Of(id, "transpose");
    if (!transpose) return id;
    if (HasOrder(*transpose, 1, 3, 2)) *layout = columns ? kHeadsFirst : kColumns;
    else if (HasOrder(*transpose, 2, columns ? 3 : 1, columns ? 1 : 3)) *layout = kRowsFirst;
    else transpose = nullptr;
    if (!transpose) makers_.used.pop_back();
    return transpose ? transpose->inputs[0] : id;
  }

  // Removes factors, which are numbers.
  ValueId Unscaled(ValueId id) {
    for (;;) {
      const Node* node = makers_.Only(id, "mul");
      if (!node) node = makers_.Only(id, "div");
      if (!node) return id;
      float factor;
      const bool first = node->op == "mul" && makers_.IsNumber(node->inputs[0], &factor);
      if (!first && !makers_.IsNumber(node->inputs[1], &factor)) {
        makers_.used.pop_back();
        return id;
      }
      scale_ *= node->op == "mul" ? factor : 1.0f / factor;
      id = node->inputs[first];
    }
  }

  // The products, and the terms that are added to them.
  bool FindScores(ValueId id) {
    constexpr size_t kMostTerms = 4;
    const Node* add = terms_.size() < kMostTerms ? makers_.Only(id, "add") : nullptr;
    if (!add) return FindProducts(id);
    const size_t before = makers_.used.size();
    for (size_t i = 0; i < 2; ++i) {
      terms_.push_back(add->inputs[1 - i]);
      if (graph_.shape(add->inputs[i]) == graph_.shape(id) && FindScores(add->inputs[i])) {
        return true;
      }
      terms_.pop_back();
      makers_.used.resize(before);
    }
    return false;
  }

  // scale * q * k^T
  bool FindProducts(ValueId id) {
    const size_t before = makers_.used.size();
    scale_ = 1.0f;
    const Node* product = makers_.Only(Unscaled(id), "batch_matmul");
    if (product) {
      q_ = Untransposed(Unscaled(product->inputs[0]), /*columns=*/false, &layouts_[0]);
      // Rows of k are columns of the product's second matrix.
      k_ = Untransposed(product->inputs[1], !IsOfColumns(*product), &layouts_[1]);
      if (layouts_[0] != kColumns && layouts_[1] != kColumns) return true;
    }
    makers_.used.resize(before);
    return false;
  }

  // The op has four axes, and no more heads of k and v than of q.
  bool IsForTheOp(const Shape& scores, const Shape& made, const Node& node) const {
    const auto heads = [&](size_t i) {
      const Shape& shape = graph_.shape(node.inputs[i]);
      return layouts_[i] == kRowsFirst ? shape.w : shape.h;
    };
    for (ValueId id : node.inputs) {
      const Shape& shape = graph_.shape(id);
      if (shape.axis(-1) > 1 || shape.axis(-2) > 1) return false;
    }
    return heads(0) == scores.h && heads(0) % heads(1) == 0 && heads(1) == heads(2) &&
           graph_.shape(q_).b == scores.b && graph_.shape(k_).b == scores.b &&
           graph_.shape(node.inputs[2]).b == scores.b && made.h == scores.h;
  }

  const Graph& graph_;
  Makers& makers_;
  ValueId q_ = -1, k_ = -1;
  std::vector<ValueId> terms_;
  float scale_ = 1.0f;
  std::vector<int> layouts_ = {kHeadsFirst, kHeadsFirst, kHeadsFirst, kHeadsFirst};
};

// The transpose of a product's heads and rows, if that is all that reads it; -1: none.
int TransposeOf(const Graph& graph, ValueId product) {
  const std::vector<int> readers = graph.Consumers(product);
  if (readers.size() != 1 || CountUses(graph, product) != 1) return -1;
  const Node& node = graph.nodes[static_cast<size_t>(readers[0])];
  const bool is_that = node.op == "transpose" && node.fused.empty() && HasOrder(node, 2, 1, 3);
  return is_that ? readers[0] : -1;
}

// The sum of known terms, if it has no more numbers than one of them; -1: it has.
ValueId SumOf(Graph* graph, ValueId a, ValueId b) {
  const auto holds = [&](const Shape& whole, const Shape& part) {
    for (int axis = kFirstAxis; axis < 4; ++axis) {
      if (part.axis(axis) != 1 && part.axis(axis) != whole.axis(axis)) return false;
    }
    return true;
  };
  if (!holds(graph->shape(a), graph->shape(b))) std::swap(a, b);
  const Value &whole = graph->value(a), &part = graph->value(b);
  if (!whole.constant || !part.constant || !IsFloat(whole.element) || !IsFloat(part.element) ||
      !holds(whole.shape, part.shape)) {
    return -1;
  }
  std::vector<float> sum = *whole.constant->floats();
  const std::vector<float> added = *part.constant->floats();
  for (size_t i = 0; i < sum.size(); ++i) {
    size_t rest = i, at = 0, step = 1;
    for (int axis = 3; axis >= kFirstAxis; --axis) {
      const size_t size = static_cast<size_t>(whole.shape.axis(axis));
      const size_t own = static_cast<size_t>(part.shape.axis(axis));
      if (own > 1) at += rest % size * step;
      step *= own;
      rest /= size;
    }
    sum[i] += added[at];
  }
  return graph->AddConstant(whole.name, whole.shape, std::move(sum), whole.rank);
}

// The op has two terms at most.
void AddUpTerms(Graph* graph, std::vector<ValueId>* inputs) {
  for (size_t i = 3; i < inputs->size(); ++i) {
    for (size_t k = inputs->size(); k-- > i + 1;) {
      const ValueId sum = SumOf(graph, (*inputs)[i], (*inputs)[k]);
      if (sum < 0) continue;
      (*inputs)[i] = sum;
      inputs->erase(inputs->begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
}

}  // namespace

int FuseAttention(Graph* graph, const Fits& fits) {
  int changes = 0;
  Makers makers(*graph);
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    if (graph->nodes[i].op != "batch_matmul" || !graph->nodes[i].fused.empty()) continue;
    makers.used.clear();
    Search search(*graph, &makers);
    const Node last = graph->nodes[i];
    Node node;
    if (!search.Find(last, &node)) continue;
    AddUpTerms(graph, &node.inputs);
    if (node.inputs.size() > kMostInputs) continue;
    for (const Node* used : makers.used) AddSources(*used, &node);
    AddSources(last, &node);
    const int transpose = TransposeOf(*graph, last.outputs[0]);
    const size_t at = transpose < 0 ? i : static_cast<size_t>(transpose);
    std::vector<int> layouts = search.layouts();
    layouts[3] = transpose < 0 ? kHeadsFirst : kRowsFirst;
    if (transpose >= 0) AddSources(graph->nodes[at], &node);
    node.op = "attention";
    node.outputs = graph->nodes[at].outputs;
    node.attributes.SetFloat("scale", search.scale());
    node.attributes.SetInts("layouts", std::move(layouts));
    if (fits && !fits(*graph, node)) continue;
    graph->nodes[at] = std::move(node);
    makers = Makers(*graph);
    ++changes;
  }
  if (changes > 0) RemoveUnread(graph);
  return changes;
}

}  // namespace quadra
