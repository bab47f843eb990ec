// A recurrent layer, LSTM or RNN, as nodes of the graph. What it is is read in ops/lstm.cc. The
// input's part of all steps is one convolution, the rest the op `recurrent`; the state is in
// variable tensors.
#ifndef QUADRA_OPS_RECURRENT_LAYER_H_
#define QUADRA_OPS_RECURRENT_LAYER_H_

#include <string>
#include <vector>

#include "delegate_native/ops/op.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {

// How a node says which layer it is.
struct RecurrentSettings {
  int rank = 2;   // of the input
  int input = 0;  // its number among the node's
  int first = 0;  // the layer's inputs come after so many others
  // Indexes of a second input and of its weights; -1: none.
  int auxiliary = -1, auxiliary_weights = -1;
  int mask = -1;                           // the input that says which steps there are; -1: all
  int output_state = 18, cell_state = 19;  // where an LSTM has them
  bool has_norms = true;
  TfLiteFusedActivation activation = kTfLiteActTanh;
  float cell_clip = 0.0f, projection_clip = 0.0f;  // 0: none
  bool time_major = true;
  bool backwards = false;
  int output = 0;                // -1: the results are an inner value
  bool may_be_integers = false;  // of 8 bits, the cells of 16
};

struct RecurrentLayer {
  int depth = 0, units = 0, outputs = 0;  // of the input, the cells, a step's result
  int auxiliary_depth = 0;                // which is a part of `depth`
  int gates = 0;                          // cell, forget, output, input: as many as there are
  std::vector<float> weights, bias;       // of the input's part, each gate in slices of its own
  std::vector<float> table;               // all others, in the order of the kernel's text
  std::string variant;                    // names of the parts that it has (recurrent.cc)
  Attributes grids;                       // of integers, as the kernel has them
  RecurrentSettings settings;
  ValueId result = -1;            // of all steps
  ValueId last = -1, cells = -1;  // of the last one

  bool Has(const char* part) const { return variant.find(part) != std::string::npos; }
};

constexpr int PaddedToSlices(int n) { return CeilDiv(n, 4) * 4; }

// Constant input `input` of the node; it must have rows x columns numbers.
Status ReadMatrix(const Importer& importer, int input, int rows, int columns, SharedFloats* floats);

// A matrix with rows in whole slices, from floats that lie `stride` apart; a vector is a matrix of
// one column.
void AppendRows(const float* from, int rows, int columns, int stride, std::vector<float>* to);
// The same column by column: work-items, which have neighbouring slices, read neighbours.
void AppendColumns(const float* from, int rows, int columns, int stride, std::vector<float>* to);
// Appends the rows of a constant input.
Status AddRows(const Importer& importer, int input, int rows, int columns, std::vector<float>* to);
Status AddColumns(const Importer& importer, int input, int rows, int columns,
                  std::vector<float>* to);

// A gate's weights for the input, and in the same rows those for the auxiliary one.
Status AddInputWeights(const Importer& importer, int input, int gate, RecurrentLayer* layer);
// The rows of the input, and of the auxiliary one.
Status ReadDepth(const Importer& importer, int gate, RecurrentLayer* layer);

Attributes AlongChannels();
Attributes ReshapeTo(int columns);
// A constant of one number.
ValueId AddScalar(Importer* importer, Constant number);

// The layer with its state: the input with the outputs before and, of an LSTM, that with the cells.
// Both are in one tensor on the way through the op: devices bind few.
Status AddLayer(Importer* importer, RecurrentLayer* layer);

}  // namespace quadra

#endif  // QUADRA_OPS_RECURRENT_LAYER_H_
