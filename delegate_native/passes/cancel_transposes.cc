// Nodes between transposes compute on the other order of axes, where that takes fewer numbers
// through transposes: x and what is added to it need none if both are transposed before and their
// sum after. Elementwise nodes do, and those that have an axis by its number; such nodes that
// values connect change together.
#include <algorithm>
#include <utility>

#include "delegate_native/base/lean/sorted.h"
#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"
#include "delegate_native/passes/transposes.h"

namespace quadra {
namespace {

// A dispatch costs as much as moving so many numbers.
constexpr int64_t kDispatch = 4096;

bool Has(const std::vector<int>& list, int i) {
  return std::find(list.begin(), list.end(), i) != list.end();
}

// Nodes of one rank that values connect, and the transposes and values around them.
struct Region {
  int rank = 0;
  std::vector<int> nodes;       // in no order
  std::vector<int> before;      // transposes whose results they read
  std::vector<int> after;       // transposes of their results, or of those of `before`
  std::vector<ValueId> others;  // computed values that they read besides
};

class Regions {
 public:
  explicit Regions(Graph* graph) : graph_(*graph) {
    maker_.assign(graph_.values.size(), -1);
    readers_.resize(graph_.values.size());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      for (ValueId id : node.outputs) maker_[static_cast<size_t>(id)] = static_cast<int>(i);
      for (ValueId id : Operands(node)) {
        std::vector<int>& readers = readers_[static_cast<size_t>(id)];
        if (readers.empty() || readers.back() != static_cast<int>(i)) {
          readers.push_back(static_cast<int>(i));
        }
      }
    }
    seen_.assign(graph_.nodes.size(), false);
  }

  // Whether the region around the transpose at node `i` changed; all others' places are as before.
  bool Change(int i) {
    if (seen_[static_cast<size_t>(i)] || !IsTranspose(At(i))) return false;
    region_ = Region();
    region_.rank = graph_.value(ResultOf(i)).rank;
    region_.before.push_back(i);
    seen_[static_cast<size_t>(i)] = true;
    Follow(ResultOf(i));
    if (region_.nodes.empty()) return false;
    Order best;
    int64_t most = CostNow() - kDispatch;
    for (const std::vector<int>* list : {&region_.before, &region_.after}) {
      for (int at : *list) {
        const Order& own = OrderOf(At(at));
        const Order order = list == &region_.before ? own : Inverted(own);
        const int64_t cost = CostOf(order);
        if (cost > most) continue;
        most = cost - 1;
        best = order;
      }
    }
    if (best.empty()) return false;
    Apply(best);
    return true;
  }

 private:
  const Node& At(int i) const { return graph_.nodes[static_cast<size_t>(i)]; }
  ValueId ResultOf(int i) const { return At(i).outputs[0]; }
  const std::vector<int>& ReadersOf(ValueId id) const { return readers_[static_cast<size_t>(id)]; }
  // Numbers of the shape, with the lanes of its slices that have none.
  static int64_t Lanes(const Shape& shape) {
    return shape.elements() / shape.c * shape.slices() * 4;
  }
  int64_t CostOfMoving(ValueId id) const { return kDispatch + Lanes(graph_.shape(id)); }

  // Whether node `i` computes the same of transposed values, all of one rank.
  bool CanMove(int i) const {
    const Node& node = At(i);
    if (!node.fused.empty() || node.outputs.size() != 1 ||
        graph_.value(ResultOf(i)).rank != region_.rank || !(OpOf(node).formula || HasAxes(node))) {
      return false;
    }
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      const Value& value = graph_.value(id);
      return value.rank == region_.rank ||
             (OpOf(node).formula && value.constant && value.rank < region_.rank) || IsNumber(id);
    });
  }
  // Whether the axes that it goes along are nothing but numbers.
  static bool HasAxes(const Node& node) {
    if (node.op == "mean" || node.op == "reduce") {
      return node.attributes.Int("keep_dims", 0) != 0;
    }
    return node.op == "concat" || node.op == "split" || node.op == "cumsum";
  }
  // Axis i of a value is axis order[i] of what lies in its place.
  void MoveAxes(const Order& order, Node* node) const {
    const int first = 4 - region_.rank;
    const auto moved = [&](int axis) { return first + order[static_cast<size_t>(axis - first)]; };
    if (node->op == "mean" || node->op == "reduce") {
      std::vector<int> axes = node->attributes.Ints("axes");
      for (int& axis : axes) axis = moved(axis);
      SortOnce(&axes);
      node->attributes.SetInts("axes", std::move(axes));
    } else {
      node->attributes.SetInt("axis", moved(node->attributes.Int("axis")));
    }
  }
  bool IsNumber(ValueId id) const {
    return graph_.IsConstant(id) && graph_.shape(id).elements() == 1;
  }

  // Takes in what reads the value, and what that reads.
  void Follow(ValueId first) {
    std::vector<ValueId> left = {first};
    while (!left.empty()) {
      const ValueId id = left.back();
      left.pop_back();
      for (int reader : ReadersOf(id)) {
        if (Has(region_.before, reader)) continue;
        if (Takes(&region_.after, reader, IsTranspose(At(reader)))) continue;
        if (!Takes(&region_.nodes, reader, CanMove(reader))) continue;
        left.push_back(ResultOf(reader));
        for (ValueId input : At(reader).inputs) Enter(input, &left);
      }
    }
  }
  // Whether it is in the list now, and was not.
  bool Takes(std::vector<int>* list, int node, bool fits) {
    if (!fits || Has(*list, node)) return false;
    list->push_back(node);
    return true;
  }
  void Enter(ValueId id, std::vector<ValueId>* left) {
    if (graph_.IsConstant(id)) return;
    const int maker = maker_[static_cast<size_t>(id)];
    if (maker >= 0 && IsTranspose(At(maker)) && !Has(region_.after, maker)) {
      if (!Takes(&region_.before, maker, true)) return;
      seen_[static_cast<size_t>(maker)] = true;
      left->push_back(id);
    } else if (maker >= 0 && CanMove(maker)) {
      if (!Takes(&region_.nodes, maker, true)) return;
      left->push_back(id);
      for (ValueId input : At(maker).inputs) Enter(input, left);
    } else if (!Has(region_.others, id)) {
      region_.others.push_back(id);
    }
  }

  // Whether somebody needs the value as it is.
  bool IsNeeded(ValueId id) const {
    if (graph_.IsOutput(id)) return true;
    const std::vector<int>& readers = ReadersOf(id);
    return std::any_of(readers.begin(), readers.end(), [&](int reader) {
      return !Has(region_.nodes, reader) && !Has(region_.after, reader);
    });
  }

  int64_t CostNow() const {
    int64_t cost = 0;
    for (int i : region_.before) cost += CostOfMoving(ResultOf(i));
    for (int i : region_.after) cost += CostOfMoving(ResultOf(i));
    for (int i : region_.nodes) cost += Lanes(graph_.shape(ResultOf(i)));
    return cost;
  }
  // If the region computes on values that a transpose by `order` would make those of today.
  int64_t CostOf(const Order& order) const {
    const Order back = Inverted(order);
    int64_t cost = 0;
    for (int i : region_.before) {
      if (!IsIdentity(Composed(OrderOf(At(i)), back))) cost += CostOfMoving(ResultOf(i));
      if (IsNeeded(ResultOf(i))) cost += CostOfMoving(ResultOf(i));
    }
    for (int i : region_.nodes) {
      const ValueId id = ResultOf(i);
      cost += Lanes(Transposed(graph_.value(id), back));
      if (IsNeeded(id)) cost += CostOfMoving(id);
    }
    for (ValueId id : region_.others) cost += CostOfMoving(id);
    for (int i : region_.after) {
      if (!Vanishes(i, order)) cost += CostOfMoving(ResultOf(i));
    }
    return cost;
  }
  // Whether this transpose's result is the region's value.
  bool Vanishes(int i, const Order& order) const {
    return IsIdentity(Composed(order, OrderOf(At(i))));
  }

  // The constant, in the region's new order.
  ValueId Moved(ValueId id, const Order& back) {
    if (IsNumber(id)) return id;
    Value value = graph_.value(id);
    value.rank = region_.rank;  // axes of 1 in front
    const Shape shape = Transposed(value, back);
    std::vector<int> places, at(back.size(), 0), strides(back.size(), 1);
    for (size_t i = back.size() - 1; i-- > 0;) {
      strides[i] = strides[i + 1] * SizeOf(value, static_cast<int>(i) + 1);
    }
    const int64_t count = shape.elements();
    for (int64_t n = 0; n < count; ++n) {
      int place = 0;
      for (size_t i = 0; i < back.size(); ++i) {
        place += at[i] * strides[static_cast<size_t>(back[i])];
      }
      places.push_back(place);
      for (size_t i = back.size(); i-- > 0;) {
        if (++at[i] < SizeOf(value, back[i])) break;
        at[i] = 0;
      }
    }
    value.constant = Picked(*value.constant, places);
    value.shape = shape;
    return graph_.AddValue(std::move(value));
  }

  // The value that is read in the place of this one.
  ValueId Now(ValueId id) const {
    for (const auto& [from, to] : instead_) {
      if (from == id) return to;
    }
    return id;
  }
  // The value in the region's new order; -1: it is not there yet.
  ValueId MovedTo(ValueId id) const {
    for (const auto& [from, to] : moved_) {
      if (from == id) return to;
    }
    return -1;
  }
  ValueId AddMoved(ValueId id, const Order& back) {
    const Value& value = graph_.value(id);
    const ValueId to = AddShaped(&graph_, id, Transposed(value, back), value.rank);
    moved_.push_back({id, to});
    return to;
  }
  void Emit(Node node, const Node& from) {
    node.sources = from.sources;
    nodes_.push_back(std::move(node));
  }

  void ApplyTo(int i, const Order& order, const Order& back) {
    Node node = At(i);
    for (ValueId& id : node.inputs) id = Now(id);
    for (FusedStep& step : node.fused) {
      for (ValueId& id : step.inputs) id = Now(id);
    }
    const ValueId result = node.outputs[0];
    if (Has(region_.before, i)) {
      const Order rest = Composed(OrderOf(node), back);
      if (IsIdentity(rest)) {
        moved_.push_back({result, node.inputs[0]});
      } else {
        Emit(TransposeOf(node.inputs[0], rest, AddMoved(result, back)), node);
      }
      if (IsNeeded(result)) nodes_.push_back(std::move(node));
    } else if (Has(region_.nodes, i)) {
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        ValueId& id = node.inputs[k];
        const ValueId known = MovedTo(At(i).inputs[k]);
        if (known >= 0 || graph_.IsConstant(id)) {
          id = known >= 0 ? known : Moved(id, back);
          continue;
        }
        const ValueId to = AddMoved(At(i).inputs[k], back);
        Emit(TransposeOf(id, back, to), node);
        id = to;
      }
      if (!OpOf(node).formula) MoveAxes(order, &node);
      node.outputs[0] = AddMoved(result, back);
      nodes_.push_back(node);
      if (IsNeeded(result)) Emit(TransposeOf(node.outputs[0], order, result), node);
    } else if (Has(region_.after, i)) {
      const ValueId source = MovedTo(At(i).inputs[0]);
      if (Vanishes(i, order) && !graph_.IsOutput(result)) {
        instead_.push_back({result, source});
      } else {
        Emit(TransposeOf(source, Composed(order, OrderOf(node)), result), node);
      }
    } else {
      nodes_.push_back(std::move(node));
    }
  }

  void Apply(const Order& order) {
    const Order back = Inverted(order);
    moved_.clear();
    instead_.clear();
    for (size_t i = 0; i < graph_.nodes.size(); ++i) ApplyTo(static_cast<int>(i), order, back);
    graph_.nodes = std::move(nodes_);
    nodes_.clear();
    for (auto& tensor : graph_.tensors) tensor.second = Now(tensor.second);
  }

  Graph& graph_;
  Region region_;
  std::vector<int> maker_;
  std::vector<std::vector<int>> readers_;
  std::vector<bool> seen_;  // transposes whose region was looked at
  // While a region changes: its values in the new order, values that others read instead of those
  // of transposes that vanish, and the new graph's nodes.
  std::vector<std::pair<ValueId, ValueId>> moved_, instead_;
  std::vector<Node> nodes_;
};

}  // namespace

int CancelTransposes(Graph* graph, const Fits& fits) {
  int changes = 0;
  Regions regions(graph);
  const Graph before = *graph;
  for (int i = 0; i < static_cast<int>(graph->nodes.size()) && changes == 0; ++i) {
    if (!regions.Change(i)) continue;
    const auto is_possible = [&](const Node& node) {
      return node.outputs[0] < static_cast<ValueId>(before.values.size()) || fits(*graph, node);
    };
    if (!fits || std::all_of(graph->nodes.begin(), graph->nodes.end(), is_possible)) {
      ++changes;  // the nodes are others now
    } else {
      *graph = before;
    }
  }
  if (changes > 0) {
    while (MergeTransposes(graph) > 0) continue;
    RemoveIdentity(graph);
  }
  return changes;
}

}  // namespace quadra
