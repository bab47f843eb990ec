// A state, as a decoder's cache of keys: DYNAMIC_UPDATE_SLICE makes an output of an input, perhaps
// in several steps. Both are one memory, where each step writes its part and nothing else. What
// reads an older state reads a copy of it, which is made before the next part is written; what
// reads the last one reads the memory itself, if its kernels can. A state of bytes, which stand for
// floats on a grid perhaps, stays one: what reads it gets the floats by a node of its own.
#include <algorithm>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

// The node that makes the value, if it is of this op and has no merged steps; null: it is not.
const Node* MadeBy(const Graph& graph, ValueId id, const char* op) {
  const int producer = graph.Producer(id);
  if (producer < 0) return nullptr;
  const Node& node = graph.nodes[static_cast<size_t>(producer)];
  return node.op == op && node.fused.empty() ? &node : nullptr;
}

// The node that brings a dense value in, or an output out.
const Node* BroughtBy(const Graph& graph, ValueId id, const char* of_integers) {
  const Node* const copy = MadeBy(graph, id, "copy");
  return copy ? copy : MadeBy(graph, id, of_integers);
}

bool IsDumped(const Graph& graph, ValueId id) {
  return std::any_of(graph.tensors.begin(), graph.tensors.end(),
                     [&](const auto& tensor) { return tensor.second == id; });
}

void Replace(ValueId from, ValueId to, Node* node) {
  std::replace(node->inputs.begin(), node->inputs.end(), from, to);
  for (FusedStep& step : node->fused) {
    std::replace(step.inputs.begin(), step.inputs.end(), from, to);
  }
}

class InPlace {
 public:
  InPlace(Graph* graph, const Fits& fits) : graph_(*graph), fits_(fits) {}

  // The updates that make a dense output; false: it is no state.
  bool Find(ValueId output) {
    const Node* const brought = BroughtBy(graph_, output, "quantize");
    if (!brought) return false;
    grid_ = brought->attributes;
    states_ = {brought->inputs[0]};
    while (const Node* update = MadeBy(graph_, states_.back(), "dynamic_update_slice")) {
      states_.push_back(update->inputs[0]);
    }
    std::reverse(states_.begin(), states_.end());
    const Node* const first = BroughtBy(graph_, states_[0], "dequantize");
    if (!first || states_.size() < 2) return false;
    input_ = first->inputs[0];
    const bool is_taken = std::any_of(graph_.values.begin(), graph_.values.end(),
                                      [this](const Value& one) { return one.memory_of == input_; });
    return graph_.value(input_).dense && !is_taken && first->attributes == grid_ &&
           Holds(input_, output);
  }

  void Make(ValueId output) {
    graph_.RemoveNode(graph_.Producer(output));
    ValueId before = input_;
    std::vector<ValueId> all;
    for (size_t i = 1; i < states_.size(); ++i) {
      const ValueId state = states_[i];
      const bool is_last = i + 1 == states_.size();
      const ValueId made = is_last ? output : AddDense(&graph_, state, "state");
      graph_.value(made).memory_of = input_;
      graph_.value(made).element = graph_.value(input_).element;
      const auto at = static_cast<size_t>(graph_.Producer(state));
      graph_.nodes[at].inputs[0] = before;
      graph_.nodes[at].attributes = grid_;
      graph_.nodes[at].outputs[0] = made;
      if (is_last && !IsOfBytes()) ReadDense(state, made);
      if (CountUses(graph_, state) > 0 || IsDumped(graph_, state)) {
        std::vector<Node> copy;
        Node& brings = AddCopy(graph_, made, state, &copy);
        if (grid_.Has("scale")) brings.op = "dequantize", brings.attributes = grid_;
        graph_.nodes.insert(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                            std::move(copy[0]));
      }
      before = made;
      all.push_back(made);
    }
    for (const ValueId made : all) {
      if (!IsOfBytes()) SkipReshape(made);
    }
    if (CountUses(graph_, states_[0]) > 0 || IsDumped(graph_, states_[0])) return;
    graph_.RemoveNode(graph_.Producer(states_[0]));
  }

 private:
  bool IsOfBytes() const { return KernelContext::DenseLayout(graph_.value(input_)).is_bytes(); }

  // Whether the output's numbers can be the input's. Bytes are written four at once, and a row's
  // must not be another row's: who writes four has read them.
  bool Holds(ValueId input, ValueId output) const {
    if (IsOfBytes()) return graph_.shape(input).c % 4 == 0;
    const auto cell = [this](ValueId id) {
      return KernelContext::DenseLayout(graph_.value(id)).cell;
    };
    return cell(input) == cell(output) && !grid_.Has("scale");
  }

  // The readers that can read it where it is.
  void ReadDense(ValueId state, ValueId dense) {
    for (const int reader : graph_.Consumers(state)) {
      Node& node = graph_.nodes[static_cast<size_t>(reader)];
      Replace(state, dense, &node);
      // A node of one formula whose operand is dense is what brings it in.
      const bool brings_in = OpOf(node).formula && node.inputs[0] == dense;
      if (brings_in || !fits_(graph_, node)) Replace(dense, state, &node);
    }
  }

  // New values of a transposed cache are a product's channels, each of which becomes a pixel: the
  // update reads them as they were before.
  void SkipReshape(ValueId made) {
    Node& update = graph_.nodes[static_cast<size_t>(graph_.Producer(made))];
    const ValueId part = update.inputs[1];
    const Node* const reshape = MadeBy(graph_, part, "reshape");
    if (!reshape || CountUses(graph_, part) != 1 || IsDumped(graph_, part)) return;
    const ValueId source = reshape->inputs[0];
    const Shape &from = graph_.shape(source), &to = graph_.shape(part);
    // A part of whole slices is a view (share_memory.cc).
    if (to.c % 4 == 0 || from.elements() != from.c || graph_.value(source).dense ||
        graph_.value(source).float32 != graph_.value(part).float32) {
      return;
    }
    Node shorter = update;
    shorter.inputs[1] = source;
    shorter.attributes.SetInts("part", {to.b, to.h, to.w, to.c});
    AddSources(*reshape, &shorter);
    if (!fits_(graph_, shorter)) return;
    update = std::move(shorter);
    graph_.RemoveNode(graph_.Producer(part));
  }

  Graph& graph_;
  const Fits& fits_;
  Attributes grid_;              // of integers that stand for floats
  std::vector<ValueId> states_;  // the input's numbers, and what each update made of them
  ValueId input_ = -1;
};

}  // namespace

int UpdateInPlace(Graph* graph, const Fits& fits) {
  int made = 0;
  InPlace in_place(graph, fits);
  for (const ValueId output : std::vector<ValueId>(graph->outputs)) {
    if (!in_place.Find(output)) continue;
    in_place.Make(output);
    ++made;
  }
  return made;
}

}  // namespace quadra
