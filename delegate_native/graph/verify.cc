#include <vector>

#include "delegate_native/graph/graph.h"

namespace quadra {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), known_(graph.values.size(), false) {}

  Status Run() {
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      if (graph_.values[i].constant) known_[i] = true;
    }
    for (ValueId id : graph_.inputs) QUADRA_RETURN_IF_ERROR(Define(id, "the graph's inputs"));
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      const std::string where = Format("node %zu (%s)", i, node.op.c_str());
      QUADRA_RETURN_IF_ERROR(CheckNode(node, where.c_str()));
    }
    for (ValueId id : graph_.outputs) QUADRA_RETURN_IF_ERROR(Use(id, "the graph's outputs"));
    return Status();
  }

 private:
  Status InRange(ValueId id, const char* where) const {
    if (id >= 0 && id < static_cast<int>(graph_.values.size())) return Status();
    return Internal("%s: there is no value %%%d", where, id);
  }

  Status Define(ValueId id, const char* where) {
    QUADRA_RETURN_IF_ERROR(InRange(id, where));
    if (known_[static_cast<size_t>(id)]) {
      return Internal("%s: %%%d has two producers", where, id);
    }
    known_[static_cast<size_t>(id)] = true;
    return CheckShape(id, where);
  }

  Status Use(ValueId id, const char* where) const {
    QUADRA_RETURN_IF_ERROR(InRange(id, where));
    if (!known_[static_cast<size_t>(id)]) {
      return Internal("%s: %%%d is used before it is computed", where, id);
    }
    return graph_.IsConstant(id) ? CheckShape(id, where) : Status();
  }

  Status CheckShape(ValueId id, const char* where) const {
    const Value& value = graph_.value(id);
    const Shape& s = value.shape;
    if (s.b < 1 || s.h < 1 || s.w < 1 || s.c < 1) {
      return Internal("%s: %%%d has the empty shape %s", where, id, ToString(s).c_str());
    }
    if (value.rank < 0 || value.rank > kMostRank) {
      return Internal("%s: %%%d has rank %d", where, id, value.rank);
    }
    for (int a = kFirstAxis; a < 4 - value.rank; ++a) {
      if (s.axis(a) == 1) continue;
      return Internal("%s: %%%d has rank %d and the shape %s", where, id, value.rank,
                      ToString(s).c_str());
    }
    if (value.constant && static_cast<int64_t>(value.constant->size()) != s.elements()) {
      return Internal("%s: constant %%%d of shape %s has %zu numbers", where, id,
                      ToString(s).c_str(), value.constant->size());
    }
    if (value.constant && IsFloat(value.constant->element()) != IsFloat(value.element)) {
      return Internal("%s: constant %%%d is %s and holds %s", where, id, NameOf(value.element),
                      NameOf(value.constant->element()));
    }
    return Status();
  }

  Status CheckNode(const Node& node, const char* where) {
    if (node.op.empty()) return Internal("%s: it has no op", where);
    if (node.outputs.empty()) return Internal("%s: it computes nothing", where);
    for (ValueId id : Operands(node)) QUADRA_RETURN_IF_ERROR(Use(id, where));
    for (ValueId id : node.outputs) QUADRA_RETURN_IF_ERROR(Define(id, where));
    for (const FusedStep& step : node.fused) {
      if (step.operand < 0 || step.operand > static_cast<int>(step.inputs.size())) {
        return Internal("%s: step %s takes the result as operand %d of %zu", where, step.op.c_str(),
                        step.operand, step.inputs.size() + 1);
      }
      for (ValueId id : step.inputs) {
        const Shape &from = graph_.shape(id), &to = graph_.shape(node.outputs[0]);
        for (int a = 0; a < 4; ++a) {
          if (from.axis(a) == 1 || from.axis(a) == to.axis(a)) continue;
          if (a == 3 && from.c < to.c && step.attributes.Has("pad_channels")) continue;
          return Internal("%s: step %s reads %%%d of shape %s, the result is %s", where,
                          step.op.c_str(), id, ToString(from).c_str(), ToString(to).c_str());
        }
      }
    }
    return Status();
  }

  const Graph& graph_;
  std::vector<bool> known_;
};

}  // namespace

Status Verify(const Graph& graph) { return Verifier(graph).Run(); }

}  // namespace quadra
