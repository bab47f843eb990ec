// Rotary position embedding as converters write it becomes the op `rope`:
//   of halves a and b of x:  concat(a * cos - b * sin, b * cos + a * sin)
//   of x as a whole:         x * cos + concat(-b, a) * sin
#include <algorithm>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

class Search {
 public:
  Search(const Graph& graph, Makers* makers) : graph_(graph), makers_(*makers) {}

  bool Find(const Node& last) {
    bool found = last.op == "concat" ? FindOfHalves(last) : false;
    for (size_t i = 0; last.op == "add" && !found && i < 2; ++i) {
      makers_.used.clear();
      found = FindOfWhole(last.inputs[i], last.inputs[1 - i]);
    }
    return found && Fits(graph_.shape(last.outputs[0]));
  }
  std::vector<ValueId> inputs() const { return {src_, cos_, sin_}; }

 private:
  // The tensor that this is the first half of the channels of, or the second; -1: there is none.
  ValueId HalfOf(ValueId id, bool second) {
    const Node* slice = makers_.Of(id, "strided_slice");
    if (!slice || slice->attributes.Int("counts", 0) == 0) return -1;
    const ValueId from = slice->inputs[0];
    Shape half = graph_.shape(from);
    half.c /= 2;
    const int begin = slice->attributes.Ints("begin").back();
    const bool fits = half == graph_.shape(id) && graph_.shape(from).c == 2 * half.c &&
                      begin == (second ? half.c : 0);
    return fits ? from : -1;
  }

  // A product of a half of x, and what the other factor is.
  bool FindProduct(ValueId id, bool second, ValueId* factor) {
    const Node* mul = makers_.Of(id, "mul");
    for (size_t i = 0; mul && i < 2; ++i) {
      const ValueId from = HalfOf(mul->inputs[i], second);
      const ValueId other = mul->inputs[1 - i];
      if (from < 0 || (src_ >= 0 && from != src_) || (*factor >= 0 && other != *factor)) continue;
      src_ = from;
      *factor = other;
      return true;
    }
    return false;
  }

  bool FindOfHalves(const Node& last) {
    src_ = cos_ = sin_ = -1;
    if (last.attributes.Int("axis") != 3 || last.inputs.size() != 2) return false;
    const Node* sub = makers_.Of(last.inputs[0], "sub");
    const Node* add = makers_.Of(last.inputs[1], "add");
    if (!sub || !add || !FindProduct(sub->inputs[0], /*second=*/false, &cos_) ||
        !FindProduct(sub->inputs[1], /*second=*/true, &sin_)) {
      return false;
    }
    for (size_t i = 0; i < 2; ++i) {
      if (FindProduct(add->inputs[i], /*second=*/true, &cos_) &&
          FindProduct(add->inputs[1 - i], /*second=*/false, &sin_)) {
        return true;
      }
    }
    return false;
  }

  // -b
  ValueId NegatedHalfOf(ValueId id) {
    if (const Node* neg = makers_.Of(id, "neg")) return HalfOf(neg->inputs[0], /*second=*/true);
    const Node* mul = makers_.Of(id, "mul");
    float factor = 0.0f;
    if (!mul || !makers_.IsNumber(mul->inputs[1], &factor) || factor != -1.0f) return -1;
    return HalfOf(mul->inputs[0], /*second=*/true);
  }

  bool FindOfWhole(ValueId plain, ValueId turned) {
    const Node* mul = makers_.Of(plain, "mul");
    const Node* other = makers_.Of(turned, "mul");
    for (size_t i = 0; mul && other && i < 2; ++i) {
      const Node* halves = makers_.Of(other->inputs[i], "concat");
      if (!halves || halves->inputs.size() != 2 || halves->attributes.Int("axis") != 3) continue;
      src_ = NegatedHalfOf(halves->inputs[0]);
      sin_ = other->inputs[1 - i];
      if (src_ < 0 || HalfOf(halves->inputs[1], /*second=*/false) != src_) continue;
      if (mul->inputs[0] != src_ && mul->inputs[1] != src_) continue;
      cos_ = mul->inputs[mul->inputs[0] == src_];
      return true;
    }
    return false;
  }

  // Whole slices of channels, and angles that are broadcast alike.
  bool Fits(const Shape& shape) const {
    const Shape& angles = graph_.shape(cos_);
    const auto fits = [](int n, int most) { return n == 1 || n == most; };
    return graph_.shape(src_) == shape && graph_.shape(sin_) == angles && shape.c % 8 == 0 &&
           shape.axis(-1) == 1 && shape.axis(-2) == 1 && fits(angles.b, shape.b) &&
           fits(angles.h, shape.h) && fits(angles.w, shape.w) &&
           (angles.c == shape.c || angles.c == shape.c / 2) && IsFloat(graph_.value(src_).element);
  }

  const Graph& graph_;
  Makers& makers_;
  ValueId src_ = -1, cos_ = -1, sin_ = -1;
};

}  // namespace

int FuseRope(Graph* graph, const Fits& fits) {
  int changes = 0;
  Makers makers(*graph);
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    const Node last = graph->nodes[i];
    if ((last.op != "concat" && last.op != "add") || !last.fused.empty()) continue;
    makers.used.clear();
    Search search(*graph, &makers);
    if (!search.Find(last)) continue;
    Node rope = last;
    rope.op = "rope";
    rope.inputs = search.inputs();
    rope.attributes = Attributes();
    for (const Node* used : makers.used) AddSources(*used, &rope);
    if (fits && !fits(*graph, rope)) continue;
    graph->nodes[i] = std::move(rope);
    makers = Makers(*graph);
    ++changes;
  }
  if (changes > 0) RemoveUnread(graph);
  return changes;
}

}  // namespace quadra
