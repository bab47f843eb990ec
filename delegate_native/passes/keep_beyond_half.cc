// Where a plan stores halfs, nodes whose numbers may lie beyond them stay in float32. They are
// found by what is computed:
// - constants beyond 65504, as masks of -1e9 have them, and what is made of these;
// - squares that are summed, and sums (RMSNorm, LayerNorm, standard deviations);
// - constants below the least normal half that are added: epsilons, which are to keep quotients
// finite;
// - integers of 16 bits that stand for floats: half holds a thirtieth of them. It ends where an op
// bounds its result, where a factor is the inverse of such a number, and at convolutions and
// products of matrices;
// - angles that come from integers, as positions do: halfs beyond 512 are half a radian apart.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

constexpr float kLargestHalf = 65504.0f, kLeastNormalHalf = 6.1035156e-5f;

// The range of a value; of two operands the later enumerator counts.
enum class Range : uint8_t { kHalf, kInverse, kBeyond };

// names: with a blank before and behind each.
bool IsAnyOf(const std::string& op, const char* names) {
  return strstr(names, (" " + op + " ").c_str()) != nullptr;
}

// The range of a constant that an elementwise op reads. Among many numbers some are tiny by chance.
Range RangeOf(const Constant& constant, bool is_added) {
  float most = 0.0f;
  bool beyond = false;
  const SharedFloats floats = constant.floats();
  for (float n : *floats) {
    beyond |= std::isfinite(n) && std::fabs(n) > kLargestHalf;
    most = std::max(most, std::fabs(n));
  }
  const bool is_tiny = is_added && most > 0.0f && most < kLeastNormalHalf;
  return beyond || is_tiny ? Range::kBeyond : Range::kHalf;
}

// An op, of a node or merged into one, and what its operands are.
struct Step {
  const std::string& op;
  const Attributes& attributes;
  std::vector<Range> operands;
  bool is_square;

  Range Largest(size_t first = 0) const {
    return *std::max_element(operands.begin() + static_cast<std::ptrdiff_t>(first), operands.end());
  }
};

bool IsBounded(const Attributes& clamp) {
  return std::fabs(clamp.Float("low")) <= kLargestHalf && clamp.Float("high") <= kLargestHalf;
}

// The range of an elementwise op's result.
Range After(const Step& step) {
  const std::string& op = step.op;
  if (step.attributes.Has("wide")) return Range::kBeyond;
  if (op == "mul") return step.Largest() == Range::kBeyond ? Range::kBeyond : Range::kHalf;
  if (op == "div") return step.operands[1] == Range::kHalf ? step.operands[0] : Range::kInverse;
  if (op == "rsqrt") return step.operands[0] == Range::kHalf ? Range::kHalf : Range::kInverse;
  if (op == "select") return step.Largest(1);
  if (op == "clamp") return IsBounded(step.attributes) ? Range::kHalf : step.operands[0];
  const bool keeps =
      IsAnyOf(op,
              " add sub maximum minimum neg abs copy sqrt square squared_difference pow floor_div "
              "floor ceil round prelu leaky_relu elu gelu gelu_tanh hard_swish silu ");
  return keeps ? step.Largest() : Range::kHalf;
}

bool Sums(const Node& node) { return IsAnyOf(node.op, " mean reduce average_pool2d "); }

class Search {
 public:
  explicit Search(Graph* graph) : graph_(*graph), ranges_(graph->values.size(), Range::kHalf) {}

  int Run() {
    int kept = 0;
    for (Node& node : graph_.nodes) {
      const bool was = node.float32;
      const Range range = Visit(&node);
      for (ValueId id : node.outputs) ranges_[static_cast<size_t>(id)] = range;
      kept += node.float32 && !was;
    }
    return kept + KeepAngles();
  }

 private:
  Range RangeOfOperand(ValueId id, const std::string& op) const {
    const Value& value = graph_.value(id);
    if (!IsFloat(value.element)) return Range::kHalf;
    if (!value.constant) return ranges_[static_cast<size_t>(id)];
    return RangeOf(*value.constant, IsAnyOf(op, " add sub maximum "));
  }

  bool IsSummed(const Node& node) const {
    const std::vector<int> readers = graph_.Consumers(node.outputs[0]);
    return std::any_of(readers.begin(), readers.end(),
                       [&](int reader) { return Sums(graph_.nodes[static_cast<size_t>(reader)]); });
  }

  // The range after one op; marks the node if it has to be.
  Range Take(const Step& step, bool is_last, Node* node) const {
    const bool is_square = step.is_square || step.op == "square" || step.op == "squared_difference";
    Range range = After(step);
    if (is_square && is_last && IsSummed(*node)) range = Range::kBeyond;
    node->float32 |= range != Range::kHalf || step.Largest() != Range::kHalf;
    return range;
  }

  Range OfOwnOp(Node* node) const {
    const Op& op = OpOf(*node);
    if (IsConvolution(*node) || node->inputs.empty()) return Range::kHalf;
    Step step = {
        node->op,
        node->attributes,
        {},
        node->inputs.size() == 2 && node->op == "mul" && node->inputs[0] == node->inputs[1]};
    if (op.formula) {
      for (ValueId id : node->inputs) step.operands.push_back(RangeOfOperand(id, node->op));
      return Take(step, node->fused.empty(), node);
    }
    for (ValueId id : node->inputs) {
      // A mask of constants may leave out places by values out of float16's range.
      const bool counts = !graph_.IsConstant(id) || node->op == "attention";
      step.operands.push_back(counts ? RangeOfOperand(id, node->op) : Range::kHalf);
    }
    if (node->attributes.Has("value") &&
        std::fabs(node->attributes.Float("value")) > kLargestHalf) {
      step.operands.push_back(Range::kBeyond);  // what a PAD writes
    }
    const Range largest = step.Largest();
    const bool adds = AddsUp(*node);
    if (op.moves || Sums(*node) || (node->op == "rope" && !node->attributes.Has("epsilon"))) {
      const Range range =
          adds && IsFloat(graph_.value(node->inputs[0]).element) ? Range::kBeyond : largest;
      node->float32 |= range != Range::kHalf;
      return range;
    }
    node->float32 |=
        largest != Range::kHalf &&
        IsAnyOf(node->op, " softmax log_softmax arg_max l2_normalize norm rope attention ");
    return Range::kHalf;
  }

  Range Visit(Node* node) const {
    Range range = OfOwnOp(node);
    for (const FusedStep& fused : node->fused) {
      Step step = {fused.op, fused.attributes, {}, fused.op == "mul" && fused.inputs.empty()};
      for (ValueId id : fused.inputs) step.operands.push_back(RangeOfOperand(id, fused.op));
      const size_t at = std::min(static_cast<size_t>(fused.operand), step.operands.size());
      step.operands.insert(step.operands.begin() + static_cast<std::ptrdiff_t>(at), range);
      if (step.operands.size() == 1 && FindOp(fused.op)->operands == 2) {
        step.operands.push_back(range);  // x + x
      }
      range = Take(step, &fused == &node->fused.back(), node);
    }
    return range;
  }

  // Whether all that the node computes with comes from integers and constants.
  static bool AllOf(const std::vector<bool>& values, const Graph& graph, const Node& node) {
    bool found = node.op == "to_float";
    const auto is_one = [&](ValueId id) {
      found |= values[static_cast<size_t>(id)];
      return graph.IsConstant(id) || values[static_cast<size_t>(id)] ||
             !IsFloat(graph.value(id).element);
    };
    const auto all = [&](const std::vector<ValueId>& ids) {
      return std::all_of(ids.begin(), ids.end(), is_one);
    };
    return all(node.inputs) && found &&
           std::all_of(node.fused.begin(), node.fused.end(),
                       [&](const FusedStep& step) { return all(step.inputs); });
  }

  static bool TakesAngles(const Node& node) {
    return IsAnyOf(node.op, " sin cos ") ||
           std::any_of(node.fused.begin(), node.fused.end(),
                       [](const FusedStep& step) { return IsAnyOf(step.op, " sin cos "); });
  }

  int KeepAngles() {
    std::vector<bool> counts(graph_.values.size(), false), angles = counts;
    for (const Node& node : graph_.nodes) {
      const bool is = AllOf(counts, graph_, node);
      for (ValueId id : node.outputs) counts[static_cast<size_t>(id)] = is;
    }
    int kept = 0;
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      const auto made = static_cast<size_t>(node->outputs[0]);
      if (!counts[made] || (!angles[made] && !TakesAngles(*node))) continue;
      kept += !node->float32;
      node->float32 = true;
      for (ValueId id : node->inputs) angles[static_cast<size_t>(id)] = true;
      for (const FusedStep& step : node->fused) {
        for (ValueId id : step.inputs) angles[static_cast<size_t>(id)] = true;
      }
    }
    return kept;
  }

  Graph& graph_;
  std::vector<Range> ranges_;
};

}  // namespace

int KeepBeyondHalf(Graph* graph) { return Search(graph).Run(); }

}  // namespace quadra
