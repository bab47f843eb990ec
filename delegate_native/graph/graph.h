// The model (one partition of it) as a plain value: nodes in execution order, values with one
// producer each. Passes rewrite it, ops make kernels of it.
#ifndef QUADRA_GRAPH_GRAPH_H_
#define QUADRA_GRAPH_GRAPH_H_

#include <climits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "delegate_native/base/element.h"
#include "delegate_native/base/shape.h"
#include "delegate_native/base/slice_view.h"
#include "delegate_native/base/status.h"
#include "delegate_native/graph/attributes.h"
#include "delegate_native/graph/constant.h"

namespace quadra {

using ValueId = int;

struct Value {
  std::string name;
  Shape shape;
  int rank = 4;  // rank that the model gives it: its last `rank` dimensions
  Element element = Element::kFloat32;
  bool float32 = false;   // its floats are kept as such, whatever the plan's precision
  ConstantData constant;  // dense, BHWC order; null for a value that is computed
  bool dense = false;     // in memory as the interpreter has it, not in slices of four channels
  int memory_of = -1;     // the value in whose memory this one lies, too; -1: its own
  SliceView view;         // where it lies there, if it is not dense
  int copy_of = 0;  // one more than the number of the model's tensor whose copy it is; 0: of none
};

// An elementwise op that was merged into its producer: runs on each result before it is stored.
// Its first operand is the result itself, `operand` says which operand of the op that was.
struct FusedStep {
  std::string op;
  std::vector<ValueId> inputs;  // the other operands
  Attributes attributes;
  int operand = 0;
};

struct Node {
  std::string op;  // name of an Op: "conv2d"
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
  std::vector<FusedStep> fused;
  std::vector<int> sources;  // indices of the model's nodes that this one stands for
  bool float32 = false;      // computed so, whatever the plan's precision
  bool plain = false;        // by the op's plainest kernels, which no driver optimises
  bool float_sums = false;   // products and sums are floats, also where the plan has them in half
};

class Graph {
 public:
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;   // in the order of the partition's inputs
  int only_shapes = 0;           // so many inputs, the last ones, have a shape and no numbers
  std::vector<ValueId> outputs;  // in the order of the partition's outputs
  // Tensors of the model, and which values have their numbers.
  std::vector<std::pair<int, ValueId>> tensors;
  // Values that follow from shapes, and the numbers with which nodes were made that cannot follow:
  // axes, say.
  std::vector<std::pair<ValueId, ConstantData>> held;

  ValueId AddValue(Value value) {
    values.push_back(std::move(value));
    return static_cast<ValueId>(values.size()) - 1;
  }
  ValueId AddValue(std::string name, Shape shape, int rank = 4);
  ValueId AddConstant(std::string name, Shape shape, std::vector<float> data, int rank = 4);

  const Value& value(ValueId id) const { return values[static_cast<size_t>(id)]; }
  Value& value(ValueId id) { return values[static_cast<size_t>(id)]; }
  const Shape& shape(ValueId id) const { return value(id).shape; }
  // Whether it has the memory of another value, of one pixel, and lies there in slices.
  bool IsView(ValueId id) const { return value(id).memory_of >= 0 && !value(id).dense; }
  ValueId MemoryOf(ValueId id) const { return IsView(id) ? value(id).memory_of : id; }
  // Whether the node's result is its input in memory, or a part of it: nothing is to be done.
  bool MovesNothing(const Node& node) const;
  bool IsConstant(ValueId id) const { return value(id).constant != nullptr; }
  bool IsOutput(ValueId id) const;

  // Index of the node that computes the value; -1 for inputs and constants. It is looked for
  // backwards from `reader`, the index of a node behind it (the last one, if none is known).
  int Producer(ValueId id, int reader = INT_MAX) const;
  // Indices of the nodes that read the value (a node that reads it twice is listed once).
  std::vector<int> Consumers(ValueId id) const;
  // Makes every reader of `from` (nodes, merged steps, graph outputs) read `to`.
  void ReplaceUses(ValueId from, ValueId to);
  void RemoveNode(int index);
};

// All operands of a node: its inputs, then those of its merged steps.
std::vector<ValueId> Operands(const Node& node);

// The text form; Parse reads what Print wrote. Constants up to 16 elements are written out, larger
// ones as shape and hash, unless `all_constants`.
std::string Print(const Graph& graph, bool all_constants = false);
// The same without the numbers of constants.
std::string PrintNodes(const Graph& graph);
Status Parse(const std::string& text, Graph* graph);

// Says the first thing that is wrong: a value with two producers, a use before its definition,
// a constant of the wrong size, an id out of range, an empty shape.
Status Verify(const Graph& graph);

}  // namespace quadra

#endif  // QUADRA_GRAPH_GRAPH_H_
