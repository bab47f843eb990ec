// Reads nodes of a TFLite graph and writes them into a Graph. Ops use it to import themselves; it
// holds every check that is common to all ops (types, ranks, sizes, constants).
#ifndef QUADRA_TFLITE_IMPORTER_H_
#define QUADRA_TFLITE_IMPORTER_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/tflite/abi.h"
#include "delegate_native/tflite/builtin_params.h"

namespace quadra {

// Constants of a model; also what DEQUANTIZE and DENSIFY make of them, and what follows from
// shapes.
class ConstantPool {
 public:
  // The tensor's numbers, dense, or Unsupported with the reason. float16 gives floats, and so do
  // quantised integers; int32 only if floats are wanted.
  Status Get(const TfLiteContext* context, int tensor, bool wants_floats, ConstantData* data);
  void Put(int tensor, ConstantData data) { known_[tensor] = std::move(data); }
  // What follows from shapes, so that it changes when they do.
  void PutSize(int tensor, ConstantData data) {
    Put(tensor, std::move(data));
    sizes_.insert(tensor);
  }
  bool Has(int tensor) const { return known_.count(tensor) != 0; }
  bool IsSize(int tensor) const { return sizes_.count(tensor) != 0; }

 private:
  Status ReadBlocks(const TfLiteContext* context, const TfLiteTensor& tensor, Scales* scales);

  std::map<int, ConstantData> known_;
  std::set<int> sizes_;
};

const char* TypeName(TfLiteType type);
// Whether its integers, of 8 bits, stand for floats.
bool IsQuantized(const TfLiteTensor& tensor);
// False where Quadra has no such element.
bool ElementOf(TfLiteType type, Element* element);

// Shapes of tensors that are known better than from the file, because they were inferred.
struct KnownShape {
  Shape shape;
  int rank;
};
using KnownShapes = std::map<int, KnownShape>;

// What judging a model tells of its tensors.
struct KnownTensors {
  ConstantPool constants;
  KnownShapes shapes;
  bool allows_quantized = true;  // tensors of quantised integers
  // The subgraph that is being imported, behind those that it is a part of.
  std::vector<const TfLiteContext*> subgraphs;
};

// The elementwise op that a fused activation is, with its attributes; null where there is none.
Status ReadActivation(TfLiteFusedActivation activation, const char** op, Attributes* attributes);

class Importer {
 public:
  // `known` is looked at whenever a shape is asked for.
  Importer(TfLiteContext* context, KnownTensors* known, Graph* graph)
      : context_(context), known_(known), graph_(graph) {}

  // Stands on a node; everything below is about it.
  // Of a builtin op's parameters only the first `params_bytes` may be read.
  void Begin(int index, const TfLiteNode* node, const TfLiteRegistration* registration,
             size_t params_bytes);

  int builtin() const { return registration_->builtin_code; }
  int num_inputs() const { return node_->inputs->size; }
  int num_outputs() const { return node_->outputs->size; }
  bool HasInput(int i) const { return i < num_inputs() && node_->inputs->data[i] >= 0; }
  int InputIndex(int i) const { return node_->inputs->data[i]; }
  int OutputIndex(int i) const { return node_->outputs->data[i]; }
  const TfLiteTensor& InputTensor(int i) const { return context_->tensors[InputIndex(i)]; }
  const TfLiteTensor& OutputTensor(int i) const { return context_->tensors[OutputIndex(i)]; }
  // A tensor that only says how inner numbers are quantised; null if there is none.
  const TfLiteTensor* Intermediate(int i) const;
  // A builtin op's parameters, as the runtime read them.
  template <typename Params>
  Status GetParams(const Params** params) const {
    *params = static_cast<const Params*>(node_->builtin_data);
    return CheckOptions(sizeof(Params));
  }
  // A custom op's parameters: bytes of the model, at any address.
  template <typename Options>
  Status CopyCustomOptions(Options* options) const {
    return CopyCustomOptions(sizeof(Options), options);
  }
  // The bytes themselves; returns how many.
  size_t CustomOptions(const uint8_t** bytes) const {
    *bytes = static_cast<const uint8_t*>(node_->custom_initial_data);
    const int size = node_->custom_initial_data_size;
    return *bytes && size > 0 ? static_cast<size_t>(size) : 0;
  }
  // Fails unless the node has between these numbers of inputs (absent optional ones at the end
  // count as not there) and so many outputs.
  Status ExpectInputs(int least, int most, int outputs = 1) const;

  bool IsConstant(int input) const;
  int InputRank(int input) const;
  Status InputShape(int input, Shape* shape, int* rank) const {
    return Describe(InputIndex(input), shape, rank);
  }

  // An operand, computed or a constant, of one of the elements.
  Status Operand(int input, ValueId* value, Elements elements = kFloats);
  // An operand that must be known when the model is loaded.
  Status ConstantOperand(int input, ValueId* value, Elements elements = kFloats);
  // An operand of floats that may be a variable tensor, which keeps its numbers from one run to the
  // next: what it holds when the node runs, and what the node leaves there. `quantized`: it may
  // hold integers that stand for floats, of 16 bits, too.
  Status State(int input, ValueId* value, bool quantized = false);
  void SetState(int input, ValueId value);
  // The floats that a state can hold which are nearest to these.
  ValueId OntoGrid(int state, ValueId floats);
  // What is convolved, then constants: input 1, the weights, and the bias if it is there.
  Status WeightedOperands(std::vector<ValueId>* values, int src = 0, int bias = 2);
  Status ConstantInts(int input, std::vector<int>* ints) const;
  // Integers as an attribute: of a constant, or of a value that is known when shapes are, and again
  // after a resize.
  Status Sizes(int input, const char* name, Attributes* attributes) const;
  // Fails unless `input` has the rank, and so many numbers along its last axis.
  Status CheckRows(int rank, int depth, int input = 0) const;
  // Rows and columns of a matrix of weights.
  Status MatrixSize(int input, int* rows, int* columns) const;
  // Of a float32 or float16 constant.
  Status ConstantFloats(int input, SharedFloats* floats) const;
  // Of constants that are one number.
  Status ConstantInt(int input, int* number) const;
  Status ConstantFloat(int input, float* number) const;
  // The floats that a tensor of integers of the type can hold: 1 / scale, scale, and the least and
  // the largest in scales.
  Status Grid(const TfLiteTensor& tensor, TfLiteType type, std::vector<float>* grid) const;
  // Fails unless all are of one element.
  Status CheckAlike(const std::vector<ValueId>& values) const;

  // Adds a node that computes output 0; a fused activation becomes a node of its own after it.
  Status AddNode(const char* op, std::vector<ValueId>&& inputs, Attributes&& attributes,
                 TfLiteFusedActivation activation = kTfLiteActNone);
  // One of several nodes, each of which computes one output.
  Status AddNodeFor(int output, const char* op, std::vector<ValueId>&& inputs,
                    Attributes&& attributes);
  // A step inside the node's work: its result is no tensor of the model.
  ValueId AddInnerNode(const char* op, std::vector<ValueId>&& inputs, Attributes&& attributes);
  ValueId AddConstant(Shape shape, std::vector<float> floats);
  // The same numbers under another shape.
  ValueId ReshapeConstant(ValueId constant, Shape shape);
  // The node is constant: its output 0 has these values.
  Status AddConstantOutput(ConstantData data);
  // Raw constants (DENSIFY, DEQUANTIZE).
  ConstantPool* constants() { return &known_->constants; }
  TfLiteContext* context() const { return context_; }
  KnownTensors* known() { return known_; }
  Graph* graph() { return graph_; }
  int index() const { return index_; }
  // How the node is computed, for the report, where its op does not say it.
  void Note(std::string note) { note_ = std::move(note); }
  const std::string& note() const { return note_; }
  // A tensor that a subgraph gets from outside.
  void Bind(int tensor, ValueId value) {
    value_of_tensor_[tensor] = floats_of_tensor_[tensor] = value;
  }

  // For whoever collects the results: the value of a tensor, or -1. A quantised one that is not
  // made here is of integers.
  ValueId ValueOf(int tensor) const;
  // The same as the interpreter has it: a quantised one is made of integers.
  ValueId StoredValueOf(int tensor);
  // Variable tensors, and the values that they get when the nodes have run.
  const std::map<int, ValueId>& states() const { return states_; }
  void ForgetStates() { states_.clear(); }

 private:
  Status CheckOptions(size_t size) const;
  Status CopyCustomOptions(size_t size, void* options) const;
  Status CheckRuntime(const TfLiteTensor& tensor, const char* what) const;
  // The types that are taken, for a sentence.
  std::string Wanted(Elements elements) const;
  Status Typed(const TfLiteTensor& tensor, const char* what, Elements elements, Value* value) const;
  Status Describe(int tensor, Shape* shape, int* rank) const;
  Status MakeOutput(int output, ValueId* value);
  Status QuantizedOperand(int tensor, ValueId* value);
  // A value of the integers of a tensor that stand for these floats.
  ValueId Quantized(const TfLiteTensor& tensor, ValueId floats);
  Status CheckQuantized(const TfLiteTensor& tensor, const char* what) const;
  Status Computed(int tensor, Elements elements, ValueId* value);

  // Notes that a constant's numbers become a part of the graph, of which they may be a result.
  void Hold(int tensor, const ConstantData& data) const;
  // A value with the numbers of a tensor. The graph says so for tensors of the model that keep
  // their numbers: none of a subgraph that stands for a node, and no variable.
  ValueId AddValueOf(int tensor, Value&& value);
  // The shape of a tensor if it is known better than from the file, or null.
  const KnownShape* Known(int tensor) const;

  TfLiteContext* context_;
  KnownTensors* known_;
  Graph* graph_;
  int index_ = -1;
  const TfLiteNode* node_ = nullptr;
  const TfLiteRegistration* registration_ = nullptr;
  size_t params_bytes_ = 0;
  std::map<int, ValueId> value_of_tensor_;
  std::map<int, ValueId> floats_of_tensor_;  // of quantised ones
  std::string note_;
  std::map<int, ValueId> states_;
};

}  // namespace quadra

#endif  // QUADRA_TFLITE_IMPORTER_H_
