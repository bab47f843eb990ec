// Reshapes, transposes, slices and rolls after each other become one node, `rearrange`: an image
// goes into windows and comes back by three, and the heads of q, k and v come out of one product by
// five. A value that several of them read is not made for any. Rolled axes, those of Swin's shifted
// windows, arrive as two slices and a concatenation each.
#include <algorithm>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"
#include "delegate_native/passes/transposes.h"

namespace quadra {
namespace {

// Which nodes make a value of another one's numbers in another order.
class Moves {
 public:
  explicit Moves(const Graph& graph) : graph_(graph) {}

  bool Is(const Node& node) const {
    if (!node.fused.empty() || node.outputs.size() != 1) return false;
    return node.inputs.size() == 1 ? IsTranspose(node) || IsPart(node) : IsRoll(node);
  }

  // The value that it moves.
  ValueId SourceOf(const Node& node) const {
    return node.inputs.size() == 1 ? node.inputs[0] : PartOf(node, 0)->inputs[0];
  }

  // Places in the source of the results of a slice or reshape; of a roll, those of its beginning.
  bool Find(const Node& node, SlicePlaces* places, Shape* taken) const {
    const Node& part = node.inputs.size() == 1 ? node : *PartOf(node, 0);
    return OpOf(part).part(graph_, part, places, taken);
  }

  void AddSourcesOf(const Node& node, Node* into) const {
    AddSources(node, into);
    for (size_t i = 0; node.inputs.size() > 1 && i < 2; ++i) AddSources(*PartOf(node, i), into);
  }

 private:
  static bool IsPart(const Node& node) {
    return node.fused.empty() && node.inputs.size() == 1 && OpOf(node).part && OpOf(node).moves;
  }

  const Node* PartOf(const Node& roll, size_t i) const {
    const int maker = graph_.Producer(roll.inputs[i]);
    return maker < 0 ? nullptr : &graph_.nodes[static_cast<size_t>(maker)];
  }

  // The end of an axis, and then its beginning.
  bool IsRoll(const Node& node) const {
    if (node.op != "concat" || node.inputs.size() != 2) return false;
    const int axis = node.attributes.Int("axis");
    SlicePlaces at[2];
    Shape taken[2];
    for (size_t i = 0; i < 2; ++i) {
      const Node* part = PartOf(node, i);
      if (!part || !IsPart(*part) || part->inputs[0] != PartOf(node, 0)->inputs[0] ||
          !OpOf(*part).part(graph_, *part, &at[i], &taken[i]) ||
          taken[i] != graph_.shape(node.inputs[i])) {
        return false;
      }
      for (int other = kFirstAxis; other < 4; ++other) {
        if (*at[i].stride_of(other) != 1) return false;
        if ((i > 0 || other != axis) && *at[i].start_of(other) != 0) return false;
      }
    }
    return *at[0].start_of(axis) == taken[1].axis(axis) &&
           graph_.shape(PartOf(node, 0)->inputs[0]) == graph_.shape(node.outputs[0]);
  }

  const Graph& graph_;
};

// The numbers along a part of an axis, `step` apart in the source, or along one of its `turns`.
struct Part {
  int size, step;
  int turn = -1;
};
using Parts = std::vector<Part>;  // of an axis, the fastest one last

// An axis that is entered at `shift`, and goes on at its beginning after its end.
struct Turn {
  int size, shift;
  Parts parts;
};

// Where a value's numbers lie in the source of all moves.
class Places {
 public:
  explicit Places(const Shape& source) {
    int step = 1;
    for (int axis = 3; axis >= kFirstAxis; --axis) {
      const int size = source.axis(axis);
      if (size > 1) At(axis)->push_back({size, step});
      step *= size;
    }
  }

  // False where the node leads to places that have no steps.
  bool Follow(const Graph& graph, const Node& node) {
    const Moves moves(graph);
    const Shape& in = graph.shape(moves.SourceOf(node));
    if (IsTranspose(node)) {
      const Order& order = OrderOf(node);
      const std::vector<Parts> before(axes_, axes_ + kMostRank);
      const int first = 4 - static_cast<int>(order.size());
      for (size_t i = 0; i < order.size(); ++i) {
        *At(first + static_cast<int>(i)) =
            before[static_cast<size_t>(first + order[i] - kFirstAxis)];
      }
      return true;
    }
    SlicePlaces places;
    Shape taken;
    if (!moves.Find(node, &places, &taken)) return false;
    if (node.inputs.size() > 1) {
      const int axis = node.attributes.Int("axis");
      return Roll(*places.start_of(axis), in.axis(axis), At(axis));
    }
    for (int axis = kFirstAxis; axis < 4; ++axis) {
      if (!Slice(*places.start_of(axis), *places.stride_of(axis), in.axis(axis), taken.axis(axis),
                 At(axis))) {
        return false;
      }
    }
    return Reshape(graph.shape(node.outputs[0]));
  }

  int first() const { return first_; }
  const std::vector<Turn>& turns() const { return turns_; }
  // All axes.
  Parts All() const {
    Parts all;
    for (const Parts& axis : axes_) {
      for (const Part& part : axis) Append(part, &all);
    }
    return all;
  }

 private:
  // Parts that follow each other in the source, too, are one.
  static void Append(const Part& part, Parts* parts) {
    if (part.size == 1) return;
    if (!parts->empty() && parts->back().step == part.size * part.step &&
        parts->back().turn == part.turn) {
      parts->back() = {parts->back().size * part.size, part.step, part.turn};
    } else {
      parts->push_back(part);
    }
  }

  Parts* At(int axis) { return &axes_[axis - kFirstAxis]; }

  bool Slice(int start, int stride, int size, int count, Parts* axis) {
    if (count == size && stride == 1) return true;
    if (stride < 1 || axis->empty()) return false;
    int inner = 1;
    for (size_t i = 1; i < axis->size(); ++i) inner *= (*axis)[i].size;
    if (start % inner != 0 || count % inner != 0 || (stride > 1 && inner > 1)) {
      // Windows that are cut: places are counted along the axis.
      if (!Roll(0, size, axis)) return false;
      inner = 1;
    }
    Part& outer = axis->front();
    const int from = start / inner * outer.step;
    if (outer.turn < 0) {
      first_ += from;
    } else {
      Turn& turn = turns_[static_cast<size_t>(outer.turn)];
      turn.shift = (turn.shift + from) % turn.size;
    }
    outer = {count / inner, outer.step * stride, outer.turn};
    return true;
  }

  bool Roll(int shift, int size, Parts* axis) {
    const auto turned = [](const Part& part) { return part.turn >= 0; };
    if (std::none_of(axis->begin(), axis->end(), turned)) {
      turns_.push_back({size, shift, std::move(*axis)});
      *axis = {{size, 1, static_cast<int>(turns_.size()) - 1}};
      return true;
    }
    // Twice the same axis, all of it.
    if (axis->size() > 1) return false;
    Turn& turn = turns_[static_cast<size_t>(axis->front().turn)];
    if (axis->front().step != 1 || turn.size != size) return false;
    turn.shift = (turn.shift + shift) % size;
    return true;
  }

  bool Reshape(const Shape& to) {
    Parts left = All();  // the next one last
    std::reverse(left.begin(), left.end());
    for (int axis = kFirstAxis; axis < 4; ++axis) {
      At(axis)->clear();
      for (int wanted = to.axis(axis); wanted > 1;) {
        if (left.empty()) return false;
        Part& next = left.back();
        const int size = std::min(next.size, wanted);
        if (next.size % size != 0 || wanted % size != 0) return false;
        next.size /= size;
        Append({size, next.size * next.step, next.turn}, At(axis));
        wanted /= size;
        if (next.size == 1) left.pop_back();
      }
    }
    return true;
  }

  Parts axes_[kMostRank];
  std::vector<Turn> turns_;
  int first_ = 0;
};

// The nodes from behind the source of all moves to node `last`, in this order.
std::vector<int> Chain(const Graph& graph, int last) {
  const Moves moves(graph);
  const auto at = [&](int i) -> const Node& { return graph.nodes[static_cast<size_t>(i)]; };
  std::vector<int> chain = {last};
  for (;;) {
    const ValueId id = moves.SourceOf(at(chain.front()));
    const int maker = graph.Producer(id, chain.front());
    if (maker < 0 || !moves.Is(at(maker))) return chain;
    // Whoever reads it besides would need it all the same.
    const std::vector<int> readers = graph.Consumers(id);
    const bool vanishes =
        !graph.IsOutput(id) && std::all_of(readers.begin(), readers.end(),
                                           [&](int reader) { return moves.Is(at(reader)); });
    if (!vanishes) return chain;
    chain.insert(chain.begin(), maker);
  }
}

// The node that finds its source's numbers at these places.
void SetPlaces(const Places& places, const Parts& parts, Node* node) {
  std::vector<int> sizes, steps, turned, turns;
  for (const Part& part : parts) {
    sizes.push_back(part.size);
    steps.push_back(part.step);
    turned.push_back(part.turn + 1);
  }
  for (const Turn& turn : places.turns()) {
    turns.insert(turns.end(), {turn.shift, static_cast<int>(turn.parts.size())});
    for (const Part& part : turn.parts) turns.insert(turns.end(), {part.size, part.step});
  }
  node->op = "rearrange";
  node->attributes.SetInts("sizes", std::move(sizes));
  node->attributes.SetInts("steps", std::move(steps));
  node->attributes.SetInt("first", places.first());
  if (turns.empty()) return;
  node->attributes.SetInts("turned", std::move(turned));
  node->attributes.SetInts("turns", std::move(turns));
}

// Whether there is one node for these; the graph is as before where there is none.
bool Merge(Graph* graph, const std::vector<int>& chain, const Fits& fits) {
  const Moves moves(*graph);
  const auto at = [&](int i) -> const Node& { return graph->nodes[static_cast<size_t>(i)]; };
  // Reshapes and slices alone may be nothing but a view (share_memory.cc).
  if (std::all_of(chain.begin(), chain.end(),
                  [&](int i) { return !IsTranspose(at(i)) && at(i).inputs.size() == 1; })) {
    return false;
  }
  const ValueId from = moves.SourceOf(at(chain.front())), to = at(chain.back()).outputs[0];
  Places places(graph->shape(from));
  for (int i : chain) {
    if (!places.Follow(*graph, at(i))) return false;
  }
  const Parts parts = places.All();
  constexpr size_t kMostParts = 8, kMostTurns = 4;
  if (parts.empty() || parts.size() > kMostParts || places.turns().size() > kMostTurns) {
    return false;
  }
  const bool is_reshape = parts.size() == 1 && parts[0].step == 1 && places.turns().empty() &&
                          graph->shape(from).elements() == graph->shape(to).elements();
  Node node = ReshapeOf(*graph, from, to);
  if (!is_reshape) SetPlaces(places, parts, &node);
  for (int i : chain) moves.AddSourcesOf(at(i), &node);
  if (fits && !fits(*graph, node)) return false;
  graph->nodes[static_cast<size_t>(chain.back())] = std::move(node);
  return true;
}

}  // namespace

int MergeMoves(Graph* graph, const Fits& fits) {
  int changes = 0;
  for (int i = static_cast<int>(graph->nodes.size()); i-- > 0;) {
    const Node& node = graph->nodes[static_cast<size_t>(i)];
    if (!Moves(*graph).Is(node) || CountUses(*graph, node.outputs[0]) == 0) continue;
    // Where the first ones have no steps together with the others, these may do without them. A
    // roll alone is three nodes already.
    const size_t least = node.inputs.size() > 1 ? 1 : 2;
    std::vector<int> chain = Chain(*graph, i);
    bool merged = false;
    while (!merged && chain.size() >= least) {
      merged = Merge(graph, chain, fits);
      chain.erase(chain.begin());
    }
    changes += merged;
  }
  if (changes > 0) RemoveUnread(graph);
  return changes;
}

}  // namespace quadra
