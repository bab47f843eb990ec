// RMSNorm and LayerNorm as converters write them, of squares, means and roots, become the op
// `norm`: one kernel, with float sums in every precision.
//   RMSNorm:   x / root        where root = sqrt(mean(x * x) + epsilon)
//   LayerNorm: (x - mean) / root, or x / root - mean / root, of squares of x - mean
// Factors of channels are behind it, or at 1 / root; terms are behind it, or before mean / root.
// Means over pixels make a LayerNorm `group_norm`: of the rows of a tensor whose groups of channels
// are rows (GroupNorm), or of each channel by itself (InstanceNorm).
#include <iterator>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

// The axes that means go over.
struct Span {
  int first, last;
};
const Span kSpans[] = {{3, 3}, {2, 3}, {1, 3}, {0, 3}, {2, 2}, {1, 2}, {0, 2}};

// The parts that were found of a norm.
struct Norm {
  ValueId src = -1, scale = -1, term = -1;  // -1: there is none
  float epsilon = 0.0f;
  bool centered = false;
  ValueId inverse = -1;  // 1 / root, with the scale
};

class Search {
 public:
  Search(const Graph& graph, const Node& node, const Span& span, Makers* makers)
      : graph_(graph), node_(node), span_(span), makers_(*makers) {}

  bool Find(Norm* norm) {
    const bool adds = node_.op == "add";
    if (node_.op == "mul" || adds) {
      for (size_t i = 0; i < 2; ++i) {
        const ValueId a = node_.inputs[i], b = node_.inputs[1 - i];
        if (adds ? FindDifference(a, b, norm) : FindQuotient(a, b, /*divides=*/false, norm)) {
          return true;
        }
        makers_.used.clear();
      }
      return false;
    }
    const ValueId a = node_.inputs[0], b = node_.inputs[1];
    return node_.op == "div" ? FindQuotient(a, b, /*divides=*/true, norm)
                             : FindQuotientOfMean(b, a, norm);
  }

 private:
  // The same numbers, under another shape.
  ValueId Unshaped(ValueId id) {
    for (;;) {
      const Node* node = makers_.Of(id, "reshape");
      if (!node) node = makers_.Of(id, "expand_dims");
      if (!node) return id;
      id = node->inputs[0];
    }
  }
  bool InSpan(int axis) const { return axis >= span_.first && axis <= span_.last; }
  // One number for each pixel of x, or each region, in their order.
  bool IsOfPixels(ValueId id, ValueId x) const {
    Shape pixels = graph_.shape(x);
    for (int axis = span_.first; axis <= span_.last; ++axis) pixels.set_axis(axis, 1);
    return graph_.shape(id) == pixels;
  }
  bool IsOfChannels(ValueId id, ValueId x) const {
    const Shape& shape = graph_.shape(id);
    return shape.c == graph_.shape(x).c && shape.elements() == shape.c;
  }
  // A mean of each pixel's channels, or over the other axes; -1: none.
  ValueId SourceOfMean(ValueId id) {
    const Node* mean = makers_.Of(Unshaped(id), "mean");
    if (!mean) return -1;
    const Shape& shape = graph_.shape(mean->inputs[0]);
    int missing = 0;
    for (int axis = span_.first; axis <= span_.last; ++axis) {
      missing += axis == span_.last || shape.axis(axis) > 1;
    }
    bool has_others = false;
    for (int axis : mean->attributes.Ints("axes")) {
      const bool counts = shape.axis(axis) > 1;
      if (InSpan(axis)) missing -= axis == span_.last || counts;
      else has_others |= counts;
    }
    return missing == 0 && !has_others ? mean->inputs[0] : -1;
  }
  bool IsMeanOf(ValueId id, ValueId x) { return IsOfPixels(id, x) && SourceOfMean(id) == x; }

  // x of x - mean(x); -1: it is no such difference.
  ValueId Centered(ValueId id) {
    const Node* sub = makers_.Of(id, "sub");
    return sub && IsMeanOf(sub->inputs[1], sub->inputs[0]) ? sub->inputs[0] : -1;
  }

  bool FindSquare(ValueId id, Norm* norm) {
    const Node* node = makers_.Of(id);
    if (!node) return false;
    const ValueId a = node->inputs[0];
    if (node->op == "squared_difference") {
      norm->src = a;
      norm->centered = true;
      return IsMeanOf(node->inputs[1], a);
    }
    if (node->op != "square" && (node->op != "mul" || node->inputs[1] != a)) return false;
    const ValueId x = Centered(a);
    norm->centered = x >= 0;
    norm->src = norm->centered ? x : a;
    return true;
  }

  // sqrt(mean + epsilon), or one divided by it.
  bool FindRoot(ValueId id, bool divides, Norm* norm) {
    const Node* root = makers_.Of(Unshaped(id), divides ? "sqrt" : "rsqrt");
    const Node* add = root ? makers_.Of(Unshaped(root->inputs[0]), "add") : nullptr;
    for (size_t i = 0; add && i < 2; ++i) {
      if (!makers_.IsNumber(add->inputs[i], &norm->epsilon)) continue;
      const ValueId squares = SourceOfMean(add->inputs[1 - i]);
      return norm->epsilon >= 0.0f && squares >= 0 && FindSquare(squares, norm);
    }
    return false;
  }

  // The factor of x: 1 / root, times a factor of each channel perhaps.
  bool FindFactor(ValueId id, bool divides, Norm* norm) {
    norm->inverse = Unshaped(id);
    const size_t before = makers_.used.size();
    if (FindRoot(id, divides, norm)) return IsOfPixels(id, norm->src);
    makers_.used.resize(before);
    const Node* mul = divides ? nullptr : makers_.Of(id, "mul");
    for (size_t i = 0; mul && i < 2; ++i) {
      norm->scale = mul->inputs[1 - i];
      const ValueId root = mul->inputs[i];
      if (!FindRoot(root, divides, norm)) continue;
      return IsOfPixels(root, norm->src) && IsOfChannels(norm->scale, norm->src);
    }
    return false;
  }

  bool FindQuotient(ValueId a, ValueId b, bool divides, Norm* norm) {
    *norm = Norm();
    return FindFactor(b, divides, norm) && (norm->centered ? Centered(a) : a) == norm->src;
  }

  // mean / root
  bool IsQuotientOfMean(ValueId id, const Norm& norm) {
    const Node* mul = makers_.Of(Unshaped(id), "mul");
    for (size_t i = 0; mul && i < 2; ++i) {
      if (Unshaped(mul->inputs[i]) == norm.inverse &&
          SourceOfMean(mul->inputs[1 - i]) == norm.src) {
        return true;
      }
    }
    return false;
  }
  // x / root - mean / root; `of_mean` is the latter.
  bool FindQuotientOfMean(ValueId of_mean, ValueId quotient, Norm* norm) {
    const Node* mul = makers_.Of(quotient, "mul");
    const size_t before = makers_.used.size();
    for (size_t i = 0; mul && i < 2; ++i) {
      *norm = Norm();
      makers_.used.resize(before);
      if (FindFactor(mul->inputs[1 - i], /*divides=*/false, norm) && norm->centered &&
          mul->inputs[i] == norm->src && IsQuotientOfMean(of_mean, *norm)) {
        return true;
      }
    }
    return false;
  }
  // x / root + (term - mean / root)
  bool FindDifference(ValueId quotient, ValueId difference, Norm* norm) {
    const ValueId id = Unshaped(difference);
    if (const Node* neg = makers_.Of(id, "neg")) {
      return FindQuotientOfMean(neg->inputs[0], quotient, norm);
    }
    const Node* sub = makers_.Of(id, "sub");
    if (!sub || !FindQuotientOfMean(sub->inputs[1], quotient, norm)) return false;
    const ValueId term = sub->inputs[0];
    float number = 1.0f;
    const bool is_number = makers_.IsNumber(term, &number);
    if (number != 0.0f) norm->term = term;
    return is_number || (id == difference && IsOfChannels(term, norm->src));
  }

  const Graph& graph_;
  const Node& node_;
  const Span span_;
  Makers& makers_;
};

// The norm that `last` ends; its span is null where it is none.
const Span* FindNorm(const Graph& graph, const Node& last, Makers* makers, Norm* found) {
  for (const Span& span : kSpans) {
    makers->used.clear();
    if (!Search(graph, last, span, makers).Find(found) ||
        graph.shape(found->src) != graph.shape(last.outputs[0])) {
      continue;
    }
    if (span.first == 3 || found->centered) return &span;
  }
  return nullptr;
}

// The node that replaces `last` and its makers.
Node NormOf(const Graph& graph, const Node& last, const Span& span, const Norm& found) {
  Node norm = last;
  norm.op = span.first == 3 ? "norm" : "group_norm";
  norm.inputs = {found.src};
  norm.attributes = Attributes();
  norm.attributes.SetFloat("epsilon", found.epsilon);
  if (span.first < 3) {
    norm.attributes.SetInt("groups", span.last == 2 ? graph.shape(found.src).c : 1);
    norm.attributes.SetInt("axes", 4 - span.first);
  } else if (found.centered) {
    norm.attributes.SetInt("centered", 1);
  }
  return norm;
}

}  // namespace

int FuseNorm(Graph* graph, const Fits& fits) {
  int changes = 0;
  Makers makers(*graph);
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    const Node last = graph->nodes[i];
    const bool ends = last.op == "mul" || last.op == "div" || last.op == "add" || last.op == "sub";
    if (!ends || !last.fused.empty() || last.inputs.size() != 2) continue;
    Norm found;
    const Span* span = FindNorm(*graph, last, &makers, &found);
    if (!span) continue;
    Node norm = NormOf(*graph, last, *span, found);
    if (fits && !fits(*graph, norm)) continue;
    for (const Node* node : makers.used) AddSources(*node, &norm);
    std::vector<Node> made = {std::move(norm)};
    const std::pair<const char*, ValueId> steps[] = {{"mul", found.scale}, {"add", found.term}};
    for (const auto& [op, operand] : steps) {
      if (operand < 0) continue;
      Node step = last;
      step.op = op;
      step.attributes = Attributes();
      Value between = graph->value(last.outputs[0]);
      made.back().outputs = {graph->AddValue(std::move(between))};
      step.inputs = {made.back().outputs[0], operand};
      made.push_back(std::move(step));
    }
    graph->nodes[i] = std::move(made[0]);
    graph->nodes.insert(graph->nodes.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                        std::make_move_iterator(made.begin() + 1),
                        std::make_move_iterator(made.end()));
    makers = Makers(*graph);
    ++changes;
  }
  if (changes > 0) RemoveUnread(graph);
  return changes;
}

}  // namespace quadra
