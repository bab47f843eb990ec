// The values of a graph that stand for the tensors of a model. A value is made when a node that is
// imported first reads or makes the tensor.
#ifndef QUADRA_TFLITE_GRAPH_TENSORS_H_
#define QUADRA_TFLITE_GRAPH_TENSORS_H_

#include <map>
#include <string>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/tflite/abi.h"
#include "delegate_native/tflite/known_tensors.h"

namespace quadra {

class GraphTensors {
 public:
  // `known` is looked at whenever a shape is asked for.
  GraphTensors(TfLiteContext* context, KnownTensors* known, Graph* graph)
      : context_(context), known_(known), graph_(graph) {}

  // Nodes that are added from now on come from this one of the model.
  void Begin(int node) { node_ = node; }

  const TfLiteTensor& tensor(int tensor) const { return context_->tensors[tensor]; }
  KnownTensors* known() const { return known_; }
  Graph* graph() const { return graph_; }

  bool IsConstant(int tensor) const;
  int Rank(int tensor) const;
  Status Describe(int tensor, Shape* shape, int* rank) const;
  // The value of a tensor, or -1. A quantised one that is not made here is of integers.
  ValueId ValueOf(int tensor) const;
  // The same as the interpreter has it: a quantised one is made of integers.
  ValueId StoredValueOf(int tensor);

  // A tensor that is read, computed or a constant, of one of the elements.
  Status Operand(int tensor, Elements elements, ValueId* value);
  // One that must be known when the model is loaded.
  Status Constant(int tensor, Elements elements, ValueId* value);
  // One that is made before its node runs; of integers, as the floats that they stand for.
  Status Computed(int tensor, Elements elements, ValueId* value);
  Status Floats(int tensor, ValueId* value);
  // A tensor that the node makes, as its op computes it.
  Status Output(int tensor, ValueId* value);
  // One that has these numbers, whatever the inputs are.
  Status ConstantOutput(int tensor, ConstantData data);
  // A tensor that a subgraph gets from outside.
  void Bind(int tensor, ValueId value) {
    value_of_tensor_[tensor] = floats_of_tensor_[tensor] = value;
  }

  void AddNode(const char* op, std::vector<ValueId>&& inputs, Attributes&& attributes,
               ValueId output);
  // A step inside the node's work: its result is no tensor of the model.
  ValueId AddInnerNode(const char* op, std::vector<ValueId>&& inputs, Attributes&& attributes);
  // A value of the integers of a tensor that stand for these floats.
  ValueId Quantized(int tensor, ValueId floats);
  // Notes that a constant's numbers become a part of the graph, of which they may be a result.
  void Hold(int tensor, const ConstantData& data) const;
  // The types that are taken, for a sentence.
  std::string Wanted(Elements elements) const;

 private:
  Status CheckRuntime(int tensor, const char* what) const;
  Status Typed(const TfLiteTensor& tensor, const char* what, Elements elements, Value* value) const;
  // A value with the numbers of a tensor. The graph says so for tensors of the model that keep
  // their numbers: none of a subgraph that stands for a node, and no variable.
  ValueId AddValueOf(int tensor, Value&& value);
  // The shape of a tensor if it is known better than from the file, or null.
  const KnownShape* Known(int tensor) const;

  TfLiteContext* context_;
  KnownTensors* known_;
  Graph* graph_;
  int node_ = -1;
  std::map<int, ValueId> value_of_tensor_;
  std::map<int, ValueId> floats_of_tensor_;  // of quantised ones
};

}  // namespace quadra

#endif  // QUADRA_TFLITE_GRAPH_TENSORS_H_
