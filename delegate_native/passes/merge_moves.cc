// Reshapes, transposes and slices after each other become one node, `rearrange`: an image goes into
// windows and comes back by three, and the heads of q, k and v come out of one product by five. A
// value that several of them read is not made for any.
#include <algorithm>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"
#include "delegate_native/passes/transposes.h"

namespace quadra {
namespace {

bool IsMove(const Node& node) {
  return node.fused.empty() && node.outputs.size() == 1 && node.inputs.size() == 1 &&
         (IsTranspose(node) || (OpOf(node).part && OpOf(node).moves));
}

// The numbers along a part of an axis, `step` apart in the source.
struct Part {
  int size, step;
};
using Parts = std::vector<Part>;  // of an axis, the fastest one last

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
    const Shape& in = graph.shape(node.inputs[0]);
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
    if (!OpOf(node).part(graph, node, &places, &taken)) return false;
    for (int axis = kFirstAxis; axis < 4; ++axis) {
      if (!Slice(*places.start_of(axis), *places.stride_of(axis), in.axis(axis), taken.axis(axis),
                 At(axis))) {
        return false;
      }
    }
    return Reshape(graph.shape(node.outputs[0]));
  }

  int first() const { return first_; }
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
    if (!parts->empty() && parts->back().step == part.size * part.step) {
      parts->back() = {parts->back().size * part.size, part.step};
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
    if (start % inner != 0 || count % inner != 0 || (stride > 1 && inner > 1)) return false;
    Part& outer = axis->front();
    first_ += start / inner * outer.step;
    outer = {count / inner, outer.step * stride};
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
        Append({size, next.size * next.step}, At(axis));
        wanted /= size;
        if (next.size == 1) left.pop_back();
      }
    }
    return true;
  }

  Parts axes_[kMostRank];
  int first_ = 0;
};

// The nodes from behind the source of all moves to node `last`, in this order.
std::vector<int> Chain(const Graph& graph, int last) {
  std::vector<int> chain = {last};
  for (;;) {
    const ValueId id = graph.nodes[static_cast<size_t>(chain.front())].inputs[0];
    const int maker = graph.Producer(id, chain.front());
    if (maker < 0 || !IsMove(graph.nodes[static_cast<size_t>(maker)])) return chain;
    // Whoever reads it besides would need it all the same.
    const std::vector<int> readers = graph.Consumers(id);
    const bool vanishes =
        !graph.IsOutput(id) && std::all_of(readers.begin(), readers.end(), [&](int reader) {
          return IsMove(graph.nodes[static_cast<size_t>(reader)]);
        });
    if (!vanishes) return chain;
    chain.insert(chain.begin(), maker);
  }
}

// Whether there is one node for these; the graph is as before where there is none.
bool Merge(Graph* graph, const std::vector<int>& chain, const Fits& fits) {
  const auto at = [&](int i) -> const Node& { return graph->nodes[static_cast<size_t>(i)]; };
  // Reshapes and slices alone may be nothing but a view (share_memory.cc).
  if (std::none_of(chain.begin(), chain.end(), [&](int i) { return IsTranspose(at(i)); })) {
    return false;
  }
  const ValueId from = at(chain.front()).inputs[0], to = at(chain.back()).outputs[0];
  Places places(graph->shape(from));
  for (int i : chain) {
    if (!places.Follow(*graph, at(i))) return false;
  }
  const Parts parts = places.All();
  constexpr size_t kMostParts = 8;
  if (parts.empty() || parts.size() > kMostParts) return false;
  const bool is_reshape = parts.size() == 1 && parts[0].step == 1 && places.first() == 0 &&
                          graph->shape(from).elements() == graph->shape(to).elements();
  Node node = ReshapeOf(*graph, from, to);
  if (!is_reshape) {
    std::vector<int> sizes, steps;
    for (const Part& part : parts) {
      sizes.push_back(part.size);
      steps.push_back(part.step);
    }
    node.op = "rearrange";
    node.attributes.SetInts("sizes", std::move(sizes));
    node.attributes.SetInts("steps", std::move(steps));
    node.attributes.SetInt("first", places.first());
  }
  for (int i : chain) AddSources(at(i), &node);
  if (fits && !fits(*graph, node)) return false;
  graph->nodes[static_cast<size_t>(chain.back())] = std::move(node);
  return true;
}

}  // namespace

int MergeMoves(Graph* graph, const Fits& fits) {
  int changes = 0;
  for (int i = static_cast<int>(graph->nodes.size()); i-- > 0;) {
    const Node& node = graph->nodes[static_cast<size_t>(i)];
    if (!IsMove(node) || CountUses(*graph, node.outputs[0]) == 0) continue;
    // Where the first ones have no steps together with the others, these may do without them.
    std::vector<int> chain = Chain(*graph, i);
    bool merged = false;
    while (!merged && chain.size() > 1) {
      merged = Merge(graph, chain, fits);
      chain.erase(chain.begin());
    }
    changes += merged;
  }
  if (changes > 0) RemoveUnread(graph);
  return changes;
}

}  // namespace quadra
