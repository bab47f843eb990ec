#include "delegate_native/passes/ranges.h"

#include <algorithm>
#include <limits>

#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Range kAny = {-kInfinity, kInfinity};
constexpr Range kInt = {INT_MIN, INT_MAX};

bool IsInt64(const Value& value) { return value.element == Element::kInt64; }

Range Both(const Range& a, const Range& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

// That of n times such a number.
Range Times(const Range& a, double n) { return {a.low * n, a.high * n}; }

Range OfElement(Element element) {
  switch (element) {
    case Element::kBool: return {0, 1};
    case Element::kUInt8: return {0, 255};
    default: return IsFloat(element) ? kAny : kInt;
  }
}

Range OfConstant(const Constant& constant) {
  if (!constant.fits_ints()) return kAny;
  Range range = {kInfinity, -kInfinity};
  for (int n : constant.ints()) range = Both(range, {double(n), double(n)});
  return range;
}

class Ranges {
 public:
  Ranges(const Graph& graph, std::vector<Range>* ranges) : graph_(graph), ranges_(*ranges) {}

  Range Of(ValueId id) const {
    const Value& value = graph_.value(id);
    return IsInt64(value) ? ranges_[static_cast<size_t>(id)] : OfElement(value.element);
  }

  Range MadeBy(const Node& node) const {
    const Range a = Of(node.inputs[0]), b = Of(node.inputs.back());
    if (OpOf(node).makes_places) return {0, INT_MAX};
    if (node.op == "to_int") return a;
    if (node.op == "add") return {a.low + b.low, a.high + b.high};
    if (node.op == "sub") return {a.low - b.high, a.high - b.low};
    if (node.op == "neg") return {-a.high, -a.low};
    if (node.op == "mul") return Product(a, b);
    if (node.op == "maximum") return {std::max(a.low, b.low), std::max(a.high, b.high)};
    if (node.op == "minimum") return {std::min(a.low, b.low), std::min(a.high, b.high)};
    if (node.op == "floor_mod") return {0, b.high};  // of a divisor above 0
    if (AddsUp(node)) return Times(a, SizeOf(node.inputs[0]) / SizeOf(node.outputs[0]));
    if (node.op == "cumsum") {
      const Shape& shape = graph_.shape(node.inputs[0]);
      return Both({0, 0}, Times(a, shape.axis(node.attributes.Int("axis"))));
    }
    return Moved(node);
  }

 private:
  static Range Product(const Range& a, const Range& b) {
    if (a.IsWide() || b.IsWide()) return kAny;
    const Range one = Both(Times(a, b.low), Times(a, b.high));
    return {std::min(one.low, one.high), std::max(one.low, one.high)};
  }

  double SizeOf(ValueId id) const { return static_cast<double>(graph_.shape(id).elements()); }

  // A number of an operand, 0, or what a PAD writes.
  Range Moved(const Node& node) const {
    const Op& op = OpOf(node);
    Range range = op.moves || op.formula || node.op == "reduce" ? Range{0, 0} : kInt;
    bool reads = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!IsInt64(graph_.value(node.inputs[i])) || op.place_input == static_cast<int>(i)) continue;
      range = Both(range, Of(node.inputs[i]));
      reads = true;
    }
    const double number = node.attributes.Int("int_value", 0);
    return Both(reads ? range : kInt, {number, number});
  }

  const Graph& graph_;
  const std::vector<Range>& ranges_;
};

}  // namespace

std::vector<Range> RangesOfInt64(const Graph& graph) {
  std::vector<Range> made(graph.values.size());
  for (size_t id = 0; id < made.size(); ++id) {
    const Value& value = graph.values[id];
    if (IsInt64(value) && value.constant) made[id] = OfConstant(*value.constant);
  }
  const auto is_int64 = [&graph](ValueId id) { return IsInt64(graph.value(id)); };
  for (ValueId id : graph.inputs) {
    if (is_int64(id)) made[static_cast<size_t>(id)] = kAny;
  }
  const Ranges ranges(graph, &made);
  for (const Node& node : graph.nodes) {
    const ValueId out = node.outputs[0];
    if (is_int64(out)) made[static_cast<size_t>(out)] = ranges.MadeBy(node);
  }
  return made;
}

}  // namespace quadra
