// Transposes that meet become one, or none. Models that were written with channels first move their
// pixels before and after each convolution, with reshapes in between: a transpose changes places
// with a reshape that merges or splits axes which it leaves side by side.
#include <algorithm>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"
#include "delegate_native/passes/transposes.h"

namespace quadra {
namespace {

// Which axis of `coarse` each axis of `fine` is a part of; -1: one of size 1. Empty where a reshape
// from one to the other does not merge axes.
std::vector<int> PartsOf(const Value& coarse, const Value& fine) {
  std::vector<int> parts;
  int whole = -1, left = 1;  // of `coarse`: the axis, and what its other parts make
  for (int i = 0; i < fine.rank; ++i) {
    const int size = SizeOf(fine, i);
    while (size > 1 && left == 1 && ++whole < coarse.rank) left = SizeOf(coarse, whole);
    if (size > 1 && left % size != 0) return {};
    parts.push_back(size > 1 ? whole : -1);
    left /= size;
  }
  return left == 1 ? parts : std::vector<int>();
}

// The axes of `coarse`, those of size 1 first, then in the order in which their parts follow each
// other in `sequence`, axes of `fine`; empty where parts of one are not side by side there.
Order WholesIn(const Order& sequence, const Value& coarse, const Value& fine) {
  const std::vector<int> parts = PartsOf(coarse, fine);
  Order wholes;
  if (parts.empty()) return wholes;
  for (int i = 0; i < coarse.rank; ++i) {
    if (SizeOf(coarse, i) == 1) wholes.push_back(i);
  }
  int last = -1;
  for (int axis : sequence) {
    const int whole = parts[static_cast<size_t>(axis)];
    if (whole < 0) continue;
    const bool goes_on = last >= 0 && parts[static_cast<size_t>(last)] == whole;
    for (int i = last + 1; goes_on && i < axis; ++i) {
      if (parts[static_cast<size_t>(i)] >= 0) return {};
    }
    if (goes_on && axis < last) return {};
    if (!goes_on) wholes.push_back(whole);
    last = axis;
  }
  // One that is there twice was parted.
  return static_cast<int>(wholes.size()) == coarse.rank ? wholes : Order();
}

// A transpose of a reshape of a transpose, of x: the axes that stay side by side, and their places.
struct Moves {
  std::vector<int> sizes;  // of these axes, as they follow each other in x
  Order order;             // the result's axis i is axis order[i] of these
};

// How many of the places are before this one.
int RankOf(const std::vector<int>& places, int place) {
  int rank = 0;
  for (int other : places) rank += other < place;
  return rank;
}

// `before` is what the first transpose makes, `after` what the reshape makes of it.
bool FindMoves(const Value& before, const Order& first, const Value& after, const Order& second,
               Moves* moves) {
  // The factors of axes that both shapes have: how large they are, and where in x and the result.
  std::vector<int> sizes, in_x, in_result;
  const Order to_result = Inverted(second);
  int a = -1, b = -1, left_a = 1, left_b = 1;
  for (;;) {
    while (left_a == 1 && ++a < before.rank) left_a = SizeOf(before, a);
    while (left_b == 1 && ++b < after.rank) left_b = SizeOf(after, b);
    if (left_a == 1 || left_b == 1) break;
    const int size = std::min(left_a, left_b), at = static_cast<int>(sizes.size());
    if (left_a % size != 0 || left_b % size != 0) return false;
    sizes.push_back(size);
    in_x.push_back(first[static_cast<size_t>(a)] * 64 + at);
    in_result.push_back(to_result[static_cast<size_t>(b)] * 64 + at);
    left_a /= size;
    left_b /= size;
  }
  const size_t count = sizes.size();
  std::vector<size_t> factors(count);  // in the order of the result
  for (size_t i = 0; i < count; ++i) {
    factors[static_cast<size_t>(RankOf(in_result, in_result[i]))] = i;
  }
  // Those that follow each other in x and in the result are one axis.
  std::vector<int> axes, places;  // their sizes, and the first ones' places in x
  int last = -2;
  for (size_t factor : factors) {
    const int place = RankOf(in_x, in_x[factor]);
    if (place == last + 1) {
      axes.back() *= sizes[factor];
    } else {
      axes.push_back(sizes[factor]);
      places.push_back(place);
    }
    last = place;
  }
  moves->sizes.resize(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    moves->order.push_back(RankOf(places, places[i]));
    moves->sizes[static_cast<size_t>(moves->order.back())] = axes[i];
  }
  return true;
}

class Merger {
 public:
  explicit Merger(Graph* graph) : graph_(*graph) {}

  // Whether something changed at node `i`.
  bool At(size_t i) {
    const Node& node = graph_.nodes[i];
    if (node.op == "batch_matmul" && node.fused.empty()) return AtProduct(i);
    const bool transposes = IsTranspose(node);
    if (!transposes && (node.op != "reshape" || !node.fused.empty())) return false;
    if (transposes && MovesOnlyOnes(graph_.value(node.inputs[0]), OrderOf(node))) {
      return Replace(i, ReshapeOf(graph_, node.inputs[0], node.outputs[0]));
    }
    const int maker = graph_.Producer(node.inputs[0], static_cast<int>(i));
    if (maker < 0) return false;
    const Node first = graph_.nodes[static_cast<size_t>(maker)];
    if (IsTranspose(first)) {
      return transposes ? Meets(i, first) : GoesAfterReshape(i, first);
    }
    if (!transposes) return GoesBeforeStep(i, maker);
    return first.op == "reshape" && first.fused.empty() &&
           (GoesBeforeReshape(i, first) || IsOneTranspose(i, first));
  }

 private:
  bool Replace(size_t i, Node node) {
    node.sources = std::move(graph_.nodes[i].sources);
    graph_.nodes[i] = std::move(node);
    return true;
  }

  // A product reads its second matrix by rows or by columns. What transposes that goes, and what
  // came first in a reshape's channels is read by rows where these make one transpose (as the keys
  // of an attention, which then may lie as they are: fuse_attention.cc).
  bool AtProduct(size_t i) {
    const ValueId b = graph_.nodes[i].inputs[1];
    const int maker = graph_.Producer(b, static_cast<int>(i));
    const int rank = graph_.value(b).rank;
    if (maker < 0 || rank < 2) return false;
    Order swap;
    for (int axis = 0; axis < rank; ++axis) swap.push_back(axis);
    std::swap(swap[static_cast<size_t>(rank) - 2], swap[static_cast<size_t>(rank) - 1]);
    const Node first = graph_.nodes[static_cast<size_t>(maker)];
    if (IsTranspose(first) && OrderOf(first) == swap) {
      ReadOtherwise(first.inputs[0], &graph_.nodes[i]);
      AddSources(first, &graph_.nodes[i]);
      return true;
    }
    if (first.op != "reshape" || !first.fused.empty()) return false;
    const ValueId swapped = AddShaped(&graph_, b, Transposed(graph_.value(b), swap), rank);
    Node transpose = TransposeOf(b, swap, swapped);
    transpose.sources = first.sources;
    ReadOtherwise(swapped, &graph_.nodes[i]);
    graph_.nodes.insert(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(i),
                        std::move(transpose));
    if (IsOneTranspose(i, first)) return true;
    graph_.nodes.erase(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(i));
    graph_.values.pop_back();
    ReadOtherwise(b, &graph_.nodes[i]);
    return false;
  }
  static void ReadOtherwise(ValueId b, Node* product) {
    product->inputs[1] = b;
    product->attributes.SetInt("columns_of_b", !product->attributes.Int("columns_of_b"));
  }

  bool Meets(size_t i, const Node& first) {
    const Node& node = graph_.nodes[i];
    const Order order = Composed(OrderOf(first), OrderOf(node));
    Replace(i, TransposeOf(first.inputs[0], order, node.outputs[0]));
    AddSources(first, &graph_.nodes[i]);
    return true;
  }

  // A reshape merges axes that lie side by side before the transpose, too.
  bool GoesAfterReshape(size_t i, const Node& first) {
    const Node& node = graph_.nodes[i];
    const Value &fine = graph_.value(node.inputs[0]), &coarse = graph_.value(node.outputs[0]);
    if (coarse.rank >= fine.rank) return false;
    const Order wholes = WholesIn(Inverted(OrderOf(first)), coarse, fine);
    if (wholes.empty()) return false;
    return Exchange(i, first, Transposed(coarse, wholes), coarse.rank, Inverted(wholes),
                    /*reshapes_first=*/true);
  }

  // A reshape of what an elementwise node makes of one transposed value: it goes first, and then
  // after the transpose. Returns whether it went.
  bool GoesBeforeStep(size_t i, int at) {
    const Node& step = graph_.nodes[static_cast<size_t>(at)];
    const Node& reshape = graph_.nodes[i];
    int transpose = -1;
    size_t operand = 0;
    for (size_t k = 0; k < step.inputs.size(); ++k) {
      const ValueId id = step.inputs[k];
      if (graph_.IsConstant(id) && graph_.shape(id).elements() == 1) continue;
      if (transpose >= 0) return false;
      transpose = graph_.Producer(id, at);
      operand = k;
    }
    if (transpose < 0 || !OpOf(step).formula || !step.fused.empty() ||
        !IsTranspose(graph_.nodes[static_cast<size_t>(transpose)]) ||
        CountUses(graph_, reshape.inputs[0]) > 1) {
      return false;
    }
    const Value &fine = graph_.value(step.inputs[operand]),
                &coarse = graph_.value(reshape.outputs[0]);
    const Order& order = OrderOf(graph_.nodes[static_cast<size_t>(transpose)]);
    if (coarse.rank >= fine.rank || fine.shape != graph_.shape(step.outputs[0]) ||
        WholesIn(Inverted(order), coarse, fine).empty()) {
      return false;
    }
    const ValueId from = step.inputs[operand];
    const ValueId between = AddShaped(&graph_, from, coarse.shape, coarse.rank);
    Node moved = step;
    moved.inputs[operand] = between;
    moved.outputs = reshape.outputs;
    Node first = ReshapeOf(graph_, from, between);
    first.sources = reshape.sources;
    graph_.nodes[i] = std::move(moved);
    graph_.nodes[static_cast<size_t>(at)] = std::move(first);
    return true;
  }

  // The transpose leaves axes side by side that a reshape has split.
  bool GoesBeforeReshape(size_t i, const Node& first) {
    const Node& node = graph_.nodes[i];
    const Value &fine = graph_.value(node.inputs[0]), &coarse = graph_.value(first.inputs[0]);
    if (coarse.rank >= fine.rank) return false;
    const Order wholes = WholesIn(OrderOf(node), coarse, fine);
    if (wholes.empty()) return false;
    return Exchange(i, first, Transposed(coarse, wholes), coarse.rank, wholes,
                    /*reshapes_first=*/false);
  }

  // A transpose of a reshape of a transpose is often one, of a reshape.
  bool IsOneTranspose(size_t i, const Node& reshape) {
    const int maker = graph_.Producer(reshape.inputs[0], static_cast<int>(i));
    if (maker < 0 || !IsTranspose(graph_.nodes[static_cast<size_t>(maker)])) return false;
    const Node node = graph_.nodes[i], first = graph_.nodes[static_cast<size_t>(maker)];
    Moves moves;
    if (CountUses(graph_, reshape.outputs[0]) > 1 ||
        !FindMoves(graph_.value(reshape.inputs[0]), OrderOf(first), graph_.value(node.inputs[0]),
                   OrderOf(node), &moves)) {
      return false;
    }
    // The axes of the result: those that were found, and axes of 1, which come first before.
    const ValueId from = first.inputs[0], to = node.outputs[0];
    const int rank = graph_.value(to).rank, ones = rank - static_cast<int>(moves.sizes.size());
    if (ones < 0) return false;
    Order order;
    Shape shape;
    for (int k = 0, one = 0; k < rank; ++k) {
      const size_t found = order.size() - static_cast<size_t>(one);
      if (SizeOf(graph_.value(to), k) == 1) {
        order.push_back(one++);
      } else if (found < moves.order.size()) {
        const int axis = moves.order[found];
        if (moves.sizes[static_cast<size_t>(axis)] != SizeOf(graph_.value(to), k)) return false;
        order.push_back(ones + axis);
      } else {
        return false;
      }
    }
    for (int k = 0; k < rank; ++k) {
      shape.set_axis(4 - rank + k, k < ones ? 1 : moves.sizes[static_cast<size_t>(k - ones)]);
    }
    const ValueId between = AddShaped(&graph_, node.inputs[0], shape, rank);
    Node before = ReshapeOf(graph_, from, between);
    before.sources = reshape.sources;
    Replace(i, TransposeOf(between, order, to));
    if (CountUses(graph_, first.outputs[0]) == 1) AddSources(first, &graph_.nodes[i]);
    graph_.nodes.insert(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(i), std::move(before));
    return true;
  }

  // Puts a reshape and a transpose by `order` in the place of `first` and node i; the value between
  // them has this shape. Others may read the value that lay between them: the transpose is theirs,
  // too, and would be there twice, unless it moves nothing.
  bool Exchange(size_t i, const Node& first, Shape shape, int rank, const Order& order,
                bool reshapes_first) {
    const Node node = graph_.nodes[i];
    const ValueId between = AddShaped(&graph_, node.inputs[0], shape, rank);
    const ValueId from = first.inputs[0], to = node.outputs[0];
    const bool moves = reshapes_first ? !MovesOnlyOnes(graph_.value(between), order)
                                      : !MovesOnlyOnes(graph_.value(from), order);
    if (moves && CountUses(graph_, node.inputs[0]) > 1) {
      graph_.values.pop_back();
      return false;
    }
    Node before =
        reshapes_first ? ReshapeOf(graph_, from, between) : TransposeOf(from, order, between);
    before.sources = first.sources;
    Replace(i, reshapes_first ? TransposeOf(between, order, to) : ReshapeOf(graph_, between, to));
    graph_.nodes.insert(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(i), std::move(before));
    return true;
  }

  Graph& graph_;
};

}  // namespace

int MergeTransposes(Graph* graph) {
  int changes = 0;
  Merger merger(graph);
  for (size_t i = 0; i < graph->nodes.size(); ++i) changes += merger.At(i);
  if (changes > 0) {
    RemoveUnread(graph);
    MergeReshapes(graph);
    while (RemoveIdentity(graph) > 0) continue;
  }
  return changes;
}

}  // namespace quadra
