// GPUs have no type for int64. A number that fits an int is one. Others are
// - the nearest int, where nothing but places, and comparisons with constants, comes of them: what
//   is out of range stays out of range;
// - else two ints, the lower word and the upper one. What only moves numbers moves both, and sums
//   and products carry from one to the other. What they make is wide unless the ranges of their
//   operands say otherwise (passes/ranges.h): a count or a position is one int.
// Inputs and outputs of two words are as the interpreter has them, ints of an axis twice as long.
#include <algorithm>
#include <climits>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/ranges.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

bool IsInt64(const Value& value) { return value.element == Element::kInt64; }

// Whether comparing the nearest int with these is comparing the number.
bool IsWithinInts(const Value& value) {
  if (!value.constant || !value.constant->fits_ints()) return false;
  for (int n : value.constant->ints()) {
    if (n == INT_MIN || n == INT_MAX) return false;
  }
  return true;
}

// Whether the result is one of sums or products: of the nearest ints it would be another number.
bool Computes(const Node& node) {
  constexpr const char* kOps[] = {"add", "sub", "mul", "neg", "floor_mod", "cumsum"};
  for (const char* op : kOps) {
    if (node.op == op) return true;
  }
  return AddsUp(node);
}

class Splitter {
 public:
  explicit Splitter(Graph* graph) : graph_(*graph), words_(graph->values.size()) {}

  Status Run() {
    if (!FindWide()) return Status();
    FindExact();
    if (!SplitAny()) return Status();
    graph_.nodes.swap(made_);
    return InferShapes(&graph_);
  }

 private:
  struct Words {
    bool is_wide = false;   // a number may be beyond 32 bits
    bool is_exact = false;  // and somebody asks for all of it
    ValueId upper = -1;     // the lower word takes the value's own place
    ValueId nearest = -1;   // int
  };

  Words& words(ValueId id) { return words_[static_cast<size_t>(id)]; }
  bool IsSplit(ValueId id) { return words(id).is_exact; }

  bool IsPlace(const Node& node, size_t i) const {
    return OpOf(node).place_input == static_cast<int>(i);
  }

  bool FindWide() {
    const std::vector<Range> ranges = RangesOfInt64(graph_);
    bool any = false;
    for (size_t id = 0; id < ranges.size(); ++id) {
      words_[id].is_wide = ranges[id].IsWide();
      any |= words_[id].is_wide;
    }
    return any;
  }

  // Whether the results differ where all of operand i is not known.
  bool Asks(const Node& node, size_t i) {
    const Op& op = OpOf(node);
    if (IsPlace(node, i)) return false;
    if (Computes(node)) return true;
    if (op.result == Result::kBool) {
      return node.inputs.size() == 2 && !IsWithinInts(graph_.value(node.inputs[1 - i]));
    }
    return !IsInt64(graph_.value(node.outputs[0])) || words(node.outputs[0]).is_exact;
  }

  void FindExact() {
    for (ValueId id : graph_.outputs) words(id).is_exact = words(id).is_wide;
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      Words& made = words(node.outputs[0]);
      made.is_exact |= made.is_wide && Computes(node);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        Words& own = words(node.inputs[i]);
        if (own.is_wide && !own.is_exact) own.is_exact = Asks(node, i);
      }
    }
  }

  ValueId NewValue(std::string name) {
    const ValueId id = graph_.AddValue(std::move(name), Shape());
    graph_.value(id).element = Element::kInt32;
    words_.emplace_back();
    return id;
  }
  // output: -1: a new value.
  ValueId AddNode(const char* op, std::vector<ValueId> inputs, const Attributes& attributes,
                  ValueId output) {
    Node node;
    node.op = op;
    node.inputs = std::move(inputs);
    node.attributes = attributes;
    node.sources = sources_;
    node.outputs = {output >= 0 ? output : NewValue(graph_.value(node.inputs[0]).name)};
    made_.push_back(std::move(node));
    return made_.back().outputs[0];
  }
  ValueId Add(const char* op, ValueId a, ValueId b = -1, ValueId c = -1, ValueId output = -1) {
    std::vector<ValueId> inputs = {a, b, c};
    while (inputs.back() < 0) inputs.pop_back();
    return AddNode(op, std::move(inputs), Attributes(), output);
  }
  ValueId AddTo(ValueId output, const char* op, ValueId a, ValueId b = -1) {
    return Add(op, a, b, -1, output);
  }
  ValueId AddConstant(ValueId like, std::vector<int32_t> ints) {
    Value value = graph_.value(like);
    value.element = Element::kInt32;
    value.constant = std::make_shared<const Constant>(value.element, std::move(ints));
    words_.emplace_back();
    return graph_.AddValue(std::move(value));
  }

  ValueId Upper(ValueId id) {
    if (words(id).upper < 0) {
      const ConstantData constant = graph_.value(id).constant;
      const ValueId upper =
          constant ? AddConstant(id, constant->words(/*upper=*/true)) : Add("upper_word", id);
      words(id).upper = upper;
    }
    return words(id).upper;
  }
  ValueId Nearest(ValueId id) {
    if (words(id).nearest < 0) {
      const ValueId nearest = Add("nearest_int", id, Upper(id));
      words(id).nearest = nearest;
    }
    return words(id).nearest;
  }

  ValueId Less(ValueId a, ValueId b) {
    const ValueId upper_a = Upper(a), upper_b = Upper(b);
    const ValueId same = Add("equal", upper_a, upper_b);
    const ValueId lower_less = Add("unsigned_less", a, b);
    const ValueId less = Add("select", same, lower_less, Add("less", upper_a, upper_b));
    graph_.value(less).element = Element::kBool;
    return less;
  }

  void Compare(const Node& node) {
    const ValueId a = node.inputs[0], b = node.inputs[1], out = node.outputs[0];
    const std::string& op = node.op;
    if (op == "equal" || op == "not_equal") {
      const ValueId lower = Add("equal", a, b), upper_a = Upper(a);
      const ValueId upper = Add("equal", upper_a, Upper(b));
      if (op == "equal") AddTo(out, "logical_and", lower, upper);
      else AddTo(out, "logical_not", Add("logical_and", lower, upper));
      return;
    }
    const bool swaps = op == "greater" || op == "less_equal";
    const ValueId less = swaps ? Less(b, a) : Less(a, b);
    const bool negates = op == "less_equal" || op == "greater_equal";
    AddTo(out, negates ? "logical_not" : "copy", less);
  }

  // An op that moves numbers moves either word; `lower`: its operands.
  void MoveWords(const Node& node, const std::vector<ValueId>& lower) {
    const ValueId out = node.outputs[0];
    std::vector<ValueId> upper = lower;
    for (size_t i = 0; i < lower.size(); ++i) {
      const bool chooses = graph_.value(lower[i]).element == Element::kBool || IsPlace(node, i);
      if (!chooses) upper[i] = Upper(lower[i]);
    }
    Attributes attributes = node.attributes;
    if (attributes.Has("int_value")) {
      attributes.SetInt("int_value", attributes.Int("int_value") >> 31);  // what a PAD writes
    }
    const char* op = FindOp(node.op)->name;
    const ValueId made = AddNode(op, std::move(upper), attributes, -1);
    words(out).upper = made;
    AddNode(op, lower, node.attributes, out);
  }

  // A number of one int, for all.
  ValueId AddNumber(int32_t number) {
    Value value;
    value.element = Element::kInt32;
    value.constant = std::make_shared<const Constant>(value.element, std::vector<int32_t>{number});
    words_.emplace_back();
    return graph_.AddValue(std::move(value));
  }

  void SetUpper(ValueId out, ValueId upper) { words(out).upper = upper; }

  // $add or $sub: a lower word that is less than an operand, or than what is taken from it, has
  // wrapped.
  void AddOrSubtract(const Node& node) {
    const ValueId a = node.inputs[0], b = node.inputs[1], out = node.outputs[0];
    const char* const op = FindOp(node.op)->name;
    const ValueId upper_a = Upper(a), upper_b = Upper(b);
    AddTo(out, op, a, b);
    const bool adds = node.op == "add";
    const ValueId carry = Add("unsigned_less", adds ? out : a, adds ? a : b);
    SetUpper(out, Add(op, Add(op, upper_a, upper_b), carry));
  }

  void Multiply(const Node& node) {
    const ValueId a = node.inputs[0], b = node.inputs[1], out = node.outputs[0];
    const ValueId upper_a = Upper(a), upper_b = Upper(b);
    const ValueId crossed = Add("add", Add("mul", a, upper_b), Add("mul", upper_a, b));
    SetUpper(out, Add("add", crossed, Add("upper_of_product", a, b)));
    AddTo(out, "mul", a, b);
  }

  void Negate(const Node& node) {
    const ValueId a = node.inputs[0], out = node.outputs[0];
    AddTo(out, "neg", a);
    const ValueId upper = Add("neg", Upper(a));
    SetUpper(out, Add("sub", upper, Add("to_bool", a)));
  }

  // SUM and CUMSUM: either half of the lower words is added up for itself. An op has up to 65536 of
  // them (ops/reduce.cc), whose sum fits 32 bits.
  void AddUp(const Node& node) {
    const ValueId a = node.inputs[0], out = node.outputs[0];
    const char* const op = FindOp(node.op)->name;
    const auto sum = [&](ValueId of) { return AddNode(op, {of}, node.attributes, -1); };
    const ValueId upper_words = sum(Upper(a));
    const ValueId lower = sum(Add("lower_half", a)), upper = sum(Add("upper_half", a));
    AddTo(out, "joined_halves", lower, upper);
    const ValueId carried = Add("add", upper_words, Add("upper_half", upper));
    SetUpper(out, Add("add", carried, Add("unsigned_less", out, lower)));
  }

  // REDUCE_MAX and REDUCE_MIN: of the numbers that have the best upper word, the best lower one.
  void FindBest(const Node& node) {
    const ValueId a = node.inputs[0], out = node.outputs[0], upper_a = Upper(a);
    Attributes kept = node.attributes;
    kept.SetInt("keep_dims", 1);
    const ValueId best = AddNode("reduce", {upper_a}, kept, -1);
    const ValueId sign = AddNumber(INT_MIN);
    const ValueId worst = node.attributes.Int("kind") == kLargest ? sign : AddNumber(INT_MAX);
    const ValueId lower =
        Add("select", Add("equal", upper_a, best), Add("bitwise_xor", a, sign), worst);
    const ValueId found = AddNode("reduce", {lower}, node.attributes, -1);
    AddTo(out, "bitwise_xor", found, sign);
    SetUpper(out, AddNode("reduce", {upper_a}, node.attributes, -1));
  }

  void SplitResult(const Node& node) {
    const ValueId out = node.outputs[0], first = node.inputs[0];
    if (node.op == "add" || node.op == "sub") return AddOrSubtract(node);
    if (node.op == "mul") return Multiply(node);
    if (node.op == "neg") return Negate(node);
    if (node.op == "cumsum" || AddsUp(node)) return AddUp(node);
    if (node.op == "reduce") return FindBest(node);
    if (node.op == "maximum" || node.op == "minimum") {
      const ValueId other = node.inputs[1];
      const ValueId less = Less(first, other);
      Node chosen = node;
      chosen.op = "select";
      if (node.op == "maximum") MoveWords(chosen, {less, other, first});
      else MoveWords(chosen, {less, first, other});
    } else if (node.op == "to_int" && IsFloat(graph_.value(first).element)) {
      const ValueId upper = Add("upper_of_float", first);
      words(out).upper = upper;
      AddTo(out, "lower_of_float", first);
    } else {
      std::vector<ValueId> lower = node.inputs;
      for (size_t i = 0; i < lower.size(); ++i) {
        if (IsPlace(node, i) && IsSplit(lower[i])) lower[i] = Nearest(lower[i]);
      }
      MoveWords(node, lower);
    }
  }

  void Visit(const Node& node) {
    sources_ = node.sources;
    if (IsSplit(node.outputs[0])) return SplitResult(node);
    const Op& op = OpOf(node);
    const bool compares = op.result == Result::kBool && node.inputs.size() == 2;
    bool asks = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      asks |= IsSplit(node.inputs[i]) && Asks(node, i);
    }
    if (asks && compares) return Compare(node);
    Node changed = node;
    if (asks && node.op == "to_float") {
      changed.op = "float_of_words";
      changed.inputs.push_back(Upper(node.inputs[0]));
    } else if (asks && node.op == "floor_mod") {
      // A divisor is the same number for all, and small (ops/elementwise_list.cc).
      changed.op = "mod_of_words";
      const int divisor = graph_.value(node.inputs[1]).constant->ints()[0];
      changed.attributes.SetFloat("divisor", static_cast<float>(divisor));
      changed.inputs[1] = Upper(node.inputs[0]);
    } else {
      // Other casts take the lower word.
      for (ValueId& id : changed.inputs) {
        if (IsSplit(id) && !asks) id = Nearest(id);
      }
    }
    made_.push_back(std::move(changed));
  }

  // As an axis twice as long, of which each word is every second number.
  void SplitInput(ValueId* input) {
    const ValueId lower = *input;
    const std::vector<int> readers = graph_.Consumers(lower);
    sources_.clear();
    if (!readers.empty()) sources_ = graph_.nodes[static_cast<size_t>(readers[0])].sources;
    Value both = graph_.value(lower);
    both.element = Element::kInt32;
    both.shape.c *= 2;
    const size_t rank = static_cast<size_t>(both.rank > 0 ? both.rank : 1);
    const bool is_scalar = both.rank == 0;
    both.rank = static_cast<int>(rank);
    *input = graph_.AddValue(std::move(both));
    words_.emplace_back();
    const ValueId upper = NewValue(graph_.value(lower).name);
    words(lower).upper = upper;
    for (int word = 0; word < 2; ++word) {
      std::vector<int> begin(rank), strides(rank, 1);
      begin.back() = word;
      strides.back() = is_scalar ? 1 : 2;
      Attributes attributes;
      attributes.SetInts("begin", begin);
      attributes.SetInts("end", begin);
      attributes.SetInts("strides", strides);
      attributes.SetInt("end_mask", (1 << rank) - 1);
      if (is_scalar) attributes.SetInt("shrink_axis_mask", 1);
      AddNode("strided_slice", {*input}, attributes, word == 0 ? lower : upper);
    }
  }

  void JoinOutput(ValueId* output) {
    const int producer = graph_.Producer(*output);
    sources_.clear();
    if (producer >= 0) sources_ = graph_.nodes[static_cast<size_t>(producer)].sources;
    std::vector<ValueId> columns = {*output, Upper(*output)};
    Attributes shape, axis;
    shape.SetInts("shape", {-1, 1});
    axis.SetInt("axis", 3);
    for (ValueId& column : columns) column = AddNode("reshape", {column}, shape, -1);
    *output = AddNode("concat", std::move(columns), axis, -1);
  }

  bool SplitAny() {
    std::vector<ValueId> split;
    for (size_t id = 0; id < words_.size(); ++id) {
      if (words_[id].is_exact) split.push_back(static_cast<ValueId>(id));
    }
    if (split.empty()) return false;
    // Nobody reads them as one number.
    graph_.tensors.erase(std::remove_if(graph_.tensors.begin(), graph_.tensors.end(),
                                        [&](const auto& tensor) { return IsSplit(tensor.second); }),
                         graph_.tensors.end());
    for (ValueId& input : graph_.inputs) {
      if (IsSplit(input)) SplitInput(&input);
    }
    for (ValueId id : split) {
      Value& value = graph_.value(id);
      value.element = Element::kInt32;
      if (!value.constant) continue;
      const ValueId upper = AddConstant(id, value.constant->words(/*upper=*/true));
      words(id).upper = upper;
      graph_.value(id).constant = std::make_shared<const Constant>(
          Element::kInt32, graph_.value(id).constant->words(/*upper=*/false));
    }
    for (const Node& node : graph_.nodes) Visit(node);
    for (ValueId& output : graph_.outputs) {
      if (IsSplit(output)) JoinOutput(&output);
    }
    return true;
  }

  Graph& graph_;
  std::vector<Words> words_;  // of each value
  std::vector<Node> made_;
  std::vector<int> sources_;  // of the nodes that are made
};

}  // namespace

Status SplitInt64(Graph* graph) { return Splitter(graph).Run(); }

}  // namespace quadra
