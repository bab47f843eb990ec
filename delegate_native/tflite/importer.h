// Writes a node of a TFLite graph into a Graph. Ops use it to import themselves; with what it is
// made of (NodeReader, GraphTensors, States) it holds every check that is common to all ops (types,
// ranks, sizes, constants).
#ifndef QUADRA_TFLITE_IMPORTER_H_
#define QUADRA_TFLITE_IMPORTER_H_

#include <string>
#include <utility>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/tflite/graph_tensors.h"
#include "delegate_native/tflite/node_reader.h"
#include "delegate_native/tflite/quantization.h"
#include "delegate_native/tflite/states.h"
#include "delegate_native/tflite/tensor_info.h"

namespace quadra {

// The elementwise op that a fused activation is, with its attributes; null where there is none.
Status ReadActivation(TfLiteFusedActivation activation, const char** op, Attributes* attributes);

class Importer : public NodeReader {
 public:
  Importer(TfLiteContext* context, KnownTensors* known, Graph* graph)
      : NodeReader(context), tensors_(context, known, graph), states_(&tensors_) {}
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  // See NodeReader.
  void Begin(int index, const TfLiteNode* node, const TfLiteRegistration* registration,
             size_t params_bytes);

  // Which values stand for tensors: for whoever collects the results.
  GraphTensors* tensors() { return &tensors_; }
  States* states() { return &states_; }
  KnownTensors* known() const { return tensors_.known(); }
  // Raw constants (DENSIFY, DEQUANTIZE).
  ConstantPool* constants() const { return &known()->constants; }
  Graph* graph() const { return tensors_.graph(); }
  // How the node is computed, for the report, where its op does not say it.
  void Note(std::string note) { note_ = std::move(note); }
  const std::string& note() const { return note_; }

  bool IsConstant(int input) const;
  int InputRank(int input) const;
  Status InputShape(int input, Shape* shape, int* rank) const;

  // An operand, computed or a constant, of one of the elements.
  Status Operand(int input, ValueId* value, Elements elements = kFloats);
  // The same of weights or a table beside floats: computed ones of uint8 are not taken, for the CPU
  // reads them as int8.
  Status Weights(int input, ValueId* value, Elements elements = kFloats);
  // An operand that must be known when the model is loaded.
  Status ConstantOperand(int input, ValueId* value, Elements elements = kFloats);
  // An operand of floats that may be a variable tensor, which keeps its numbers from one run to the
  // next: what it holds when the node runs, and what the node leaves there. `quantized`: it may
  // hold integers that stand for floats.
  Status State(int input, ValueId* value, bool quantized = false);
  void SetState(int input, ValueId value);
  // Input 0 is a resource variable's handle: output 0 becomes what it holds.
  Status ReadResource();
  // It holds input 1 from now on.
  Status AssignResource();
  // The floats that a state can hold which are nearest to these.
  ValueId OntoGrid(int state, ValueId floats);
  // The input that is convolved, then constants: input 1, the weights, and the bias if it is there.
  Status WeightedOperands(std::vector<ValueId>* values, int src = 0, int bias = 2);
  Status ConstantInts(int input, std::vector<int>* ints) const;
  // Integers as an attribute: of a constant, or of a value that is known when shapes are, and again
  // after a resize.
  Status Sizes(int input, const char* name, Attributes* attributes) const;
  // Fails unless `input` has the rank, and so many numbers along its last axis.
  Status CheckRows(int rank, int depth, int input = 0) const;
  // Rows and columns of a matrix of weights.
  Status MatrixSize(int input, int* rows, int* columns) const;
  // The numbers of a float32 or float16 constant.
  Status ConstantFloats(int input, SharedFloats* floats) const;
  // The only number of a constant.
  Status ConstantInt(int input, int* number) const;
  Status ConstantFloat(int input, float* number) const;
  // The floats that a tensor of integers of the type can hold: 1 / scale, scale, and the least and
  // the largest in scales.
  Status Grid(const TfLiteTensor& tensor, TfLiteType type, std::vector<float>* grid) const;
  // Fails where an input, if it is there, has integers with a scale: the CPU's kernel takes them as
  // they are, whatever they stand for.
  Status CheckUnscaled(int input) const;
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

 private:
  Status CheckHas(int input) const;
  // Early hybrid models have int8 weights in tensors of uint8, for floats: the CPU's kernels read
  // them so, whatever their zero point is.
  bool HasWeightsOfUint8(int input) const;
  void FindWeightsOfUint8(int input) const;

  GraphTensors tensors_;
  States states_;
  std::string note_;
};

}  // namespace quadra

#endif  // QUADRA_TFLITE_IMPORTER_H_
