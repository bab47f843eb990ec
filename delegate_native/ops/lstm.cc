// LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM, RNN, UNIDIRECTIONAL_SEQUENCE_RNN: a step or a sequence of
// steps of a recurrent layer. The input's part of all steps is one convolution, the rest the op
// `recurrent`; the state is in variable tensors.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "delegate_native/ops/op.h"
#include "delegate_native/ops/window.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

// Inputs of the full LSTM: where groups with one for each gate begin, and their order of gates.
constexpr int kInputWeights = 1, kRecurrentWeights = 5, kPeepholes = 9, kBiases = 12, kNorms = 20;
constexpr int kProjection = 16, kProjectionBias = 17, kOutputState = 18, kCellState = 19;
constexpr int kInput = 0, kForget = 1, kCell = 2, kOutput = 3;

struct Layer {
  int depth = 0, units = 0, outputs = 0;  // of the input, the cells, a step's result
  int gates = 0;                          // cell, forget, output, input: as many as there are
  std::vector<float> weights, bias;       // of the input's part, each gate in slices of its own
  std::vector<float> table;               // all others, in the order of the kernel's text
  std::string variant;                    // letters of the kernel's lines
  TfLiteFusedActivation activation = kTfLiteActTanh;
  float cell_clip = 0.0f, projection_clip = 0.0f;  // 0: none
  bool time_major = true;
};

int Padded(int n) { return CeilDiv(n, 4) * 4; }

// A matrix with rows in whole slices; a vector is a matrix of one column.
void AppendRows(const float* from, int rows, int columns, int stride, std::vector<float>* to) {
  for (int i = 0; i < rows; ++i, from += stride) to->insert(to->end(), from, from + columns);
  to->resize(to->size() + static_cast<size_t>(Padded(rows) - rows) * static_cast<size_t>(columns));
}

// The same column by column: work-items, which have neighbouring slices, read neighbours.
void AppendColumns(const float* from, int rows, int columns, int stride, std::vector<float>* to) {
  size_t at = to->size();
  to->resize(at + static_cast<size_t>(Padded(rows)) * static_cast<size_t>(Padded(columns)));
  for (int j = 0; j < columns; ++j, at += static_cast<size_t>(Padded(rows))) {
    const float* number = from + j;
    for (int i = 0; i < rows; ++i, number += stride) (*to)[at + static_cast<size_t>(i)] = *number;
  }
}

Status ReadFloats(const Importer& importer, int input, int rows, int columns,
                  SharedFloats* floats) {
  QUADRA_RETURN_IF_ERROR(importer.ConstantFloats(input, floats));
  if ((*floats)->size() == static_cast<size_t>(rows) * static_cast<size_t>(columns))
    return Status();
  return InvalidModel("its input %d has %zu numbers for %d x %d", input, (*floats)->size(), rows,
                      columns);
}

Status AddRows(const Importer& importer, int input, int rows, int columns, std::vector<float>* to) {
  SharedFloats floats;
  QUADRA_RETURN_IF_ERROR(ReadFloats(importer, input, rows, columns, &floats));
  AppendRows(floats->data(), rows, columns, columns, to);
  return Status();
}

Status AddColumns(const Importer& importer, int input, int rows, int columns,
                  std::vector<float>* to) {
  SharedFloats floats;
  QUADRA_RETURN_IF_ERROR(ReadFloats(importer, input, rows, columns, &floats));
  AppendColumns(floats->data(), rows, columns, columns, to);
  return Status();
}

// Rows and columns of a weight matrix.
Status ReadSize(const Importer& importer, int input, int* rows, int* columns) {
  const TfLiteIntArray* dims =
      importer.HasInput(input) ? importer.InputTensor(input).dims : nullptr;
  if (!dims || dims->size != 2 || dims->data[0] < 1 || dims->data[1] < 1) {
    return InvalidModel("its input %d is no matrix of weights", input);
  }
  *rows = dims->data[0];
  *columns = dims->data[1];
  return Status();
}

Attributes ReshapeTo(int columns) {
  Attributes attributes;
  attributes.SetInts("shape", {-1, columns});
  return attributes;
}

// The gates before the state has its part in them.
Status AddInputPart(Importer* importer, Layer* layer, ValueId* gates) {
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  const int rows = layer->gates * Padded(layer->units);
  std::vector<ValueId> inputs = {
      src, importer->AddConstant({rows, 1, 1, layer->depth}, std::move(layer->weights))};
  if (!layer->bias.empty()) {
    inputs.push_back(importer->AddConstant({1, 1, 1, rows}, std::move(layer->bias)));
  }
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(SetWindow(kTfLitePaddingValid, 1, 1, 1, 1, &attributes));
  attributes.SetInt("rank", importer->InputRank(0));
  *gates = importer->AddInnerNode("conv2d", std::move(inputs), std::move(attributes));
  return Status();
}

Status SetAttributes(const Layer& layer, Attributes* attributes) {
  const char* activation;
  QUADRA_RETURN_IF_ERROR(ReadActivation(layer.activation, &activation, attributes));
  if (activation) attributes->SetWord("activation", activation);
  attributes->SetWord("variant", layer.variant);
  attributes->SetInts("sizes", {layer.gates, layer.units, layer.outputs});
  const float infinity = std::numeric_limits<float>::infinity();
  attributes->SetFloat("cell_clip", layer.cell_clip > 0 ? layer.cell_clip : infinity);
  attributes->SetFloat("projection_clip",
                       layer.projection_clip > 0 ? layer.projection_clip : infinity);
  attributes->SetInt("time_axis", layer.time_major ? 1 : 2);
  return Status();
}

// Some channels of all steps, or of the last one.
Attributes Part(const Layer& layer, int rank, int first, int count, bool last) {
  std::vector<int> begin(static_cast<size_t>(rank), 0), end = begin;
  begin.back() = first;
  end.back() = first + count;
  if (last && rank > 2) begin[layer.time_major ? 0 : 1] = -1;
  Attributes attributes;
  attributes.SetInts("strides", std::vector<int>(begin.size(), 1));
  attributes.SetInts("begin", std::move(begin));
  attributes.SetInts("end", std::move(end));
  attributes.SetInt("end_mask", (1 << (rank - 1)) - 1);
  return attributes;
}

// The layer with its state: the input with the outputs before and, of an LSTM, that with the cells,
// which become `cells`. Both are in one tensor on the way through the op: devices bind few.
Status AddLayer(Importer* importer, Layer* layer, int output_state, int cell_state,
                ValueId* cells) {
  const int rank = importer->InputRank(0), outputs = layer->outputs;
  ValueId gates, state;
  QUADRA_RETURN_IF_ERROR(AddInputPart(importer, layer, &gates));
  // The CPU takes states of any shape.
  QUADRA_RETURN_IF_ERROR(importer->State(output_state, &state));
  state = importer->AddInnerNode("reshape", {state}, ReshapeTo(outputs));
  if (cells) {
    ValueId before;
    QUADRA_RETURN_IF_ERROR(importer->State(cell_state, &before));
    before = importer->AddInnerNode("reshape", {before}, ReshapeTo(layer->units));
    Attributes channels;
    channels.SetInt("axis", 3);
    state = importer->AddInnerNode("concat", {state, before}, std::move(channels));
  }
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(SetAttributes(*layer, &attributes));
  const int size = static_cast<int>(layer->table.size());
  const ValueId table = importer->AddConstant({1, 1, 1, size}, std::move(layer->table));
  const ValueId steps =
      importer->AddInnerNode("recurrent", {gates, table, state}, std::move(attributes));
  QUADRA_RETURN_IF_ERROR(
      importer->AddNode("strided_slice", {steps}, Part(*layer, rank, 0, outputs, false)));
  const auto last = [&](int first, int count) {
    return importer->AddInnerNode("strided_slice", {steps}, Part(*layer, rank, first, count, true));
  };
  importer->SetState(output_state, last(0, outputs));
  if (!cells) return Status();
  *cells = last(Padded(outputs), layer->units);
  importer->SetState(cell_state, *cells);
  return Status();
}

Status CheckInput(const Importer& importer, int rank, int depth) {
  const TfLiteIntArray* dims = importer.InputTensor(0).dims;
  if (depth > 0 && importer.InputRank(0) == rank && dims && dims->size == rank &&
      dims->data[rank - 1] == depth) {
    return Status();
  }
  return Unsupported("its input has rank %d; rank %d with rows of %d numbers is supported",
                     importer.InputRank(0), rank, depth);
}

Status ReadFull(const Importer& importer, Layer* layer) {
  int rows;
  QUADRA_RETURN_IF_ERROR(ReadSize(importer, kInputWeights + kOutput, &layer->units, &layer->depth));
  QUADRA_RETURN_IF_ERROR(ReadSize(importer, kRecurrentWeights + kOutput, &rows, &layer->outputs));
  const int units = layer->units, outputs = layer->outputs;
  const bool has_input = importer.HasInput(kInputWeights);
  const bool has_peepholes = importer.HasInput(kPeepholes + kForget);
  const bool has_norms = importer.HasInput(kNorms + kForget);
  const bool projects = importer.HasInput(kProjection) || outputs != units;
  layer->variant = has_input ? "ci" : "cu";
  layer->variant += has_peepholes ? has_input ? "pq" : "p" : "";
  layer->variant += has_norms ? "n" : "";
  layer->variant += projects ? "j" : "s";
  constexpr int kGates[] = {kCell, kForget, kOutput, kInput};
  layer->gates = has_input ? 4 : 3;
  std::vector<float>* table = &layer->table;
  for (int i = 0; i < layer->gates; ++i) {
    QUADRA_RETURN_IF_ERROR(
        AddRows(importer, kInputWeights + kGates[i], units, layer->depth, &layer->weights));
    QUADRA_RETURN_IF_ERROR(
        AddColumns(importer, kRecurrentWeights + kGates[i], units, outputs, table));
  }
  for (int i = 1; i < layer->gates && has_peepholes; ++i) {
    const int input = kPeepholes + std::min(kGates[i], 2);  // the cell has none
    QUADRA_RETURN_IF_ERROR(AddRows(importer, input, units, 1, table));
  }
  for (int i = 0; i < layer->gates; ++i) {
    if (has_norms) QUADRA_RETURN_IF_ERROR(AddRows(importer, kNorms + kGates[i], units, 1, table));
    QUADRA_RETURN_IF_ERROR(
        AddRows(importer, kBiases + kGates[i], units, 1, has_norms ? table : &layer->bias));
  }
  if (!projects) return Status();
  QUADRA_RETURN_IF_ERROR(AddColumns(importer, kProjection, outputs, units, table));
  if (importer.HasInput(kProjectionBias)) {
    return AddRows(importer, kProjectionBias, outputs, 1, table);
  }
  table->resize(table->size() + static_cast<size_t>(Padded(outputs)));
  return Status();
}

// All weights in one matrix, for the input and the outputs before; gates in the order input, cell,
// forget, output. The CPU's scratch, outputs 2 and 3, is not made.
Status ImportBasic(Importer* importer) {
  constexpr int kWeights = 2, kBias = 3;
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(5, 5, 4));
  int rows, columns;
  QUADRA_RETURN_IF_ERROR(ReadSize(*importer, kWeights, &rows, &columns));
  Layer layer;
  layer.variant = "cis";
  layer.gates = 4;
  layer.units = layer.outputs = rows / 4;
  layer.depth = columns - layer.units;
  QUADRA_RETURN_IF_ERROR(CheckInput(*importer, 2, layer.depth));
  SharedFloats weights, bias;
  QUADRA_RETURN_IF_ERROR(ReadFloats(*importer, kWeights, 4 * layer.units, columns, &weights));
  QUADRA_RETURN_IF_ERROR(ReadFloats(*importer, kBias, 4 * layer.units, 1, &bias));
  for (int gate : {1, 2, 3, 0}) {
    const int units = layer.units, first = gate * units;
    const float* part = weights->data() + static_cast<std::ptrdiff_t>(first) * columns;
    AppendRows(part, units, layer.depth, columns, &layer.weights);
    AppendColumns(part + layer.depth, units, units, columns, &layer.table);
    AppendRows(bias->data() + first, units, 1, 1, &layer.bias);
  }
  ValueId cells;
  QUADRA_RETURN_IF_ERROR(AddLayer(importer, &layer, 1, 4, &cells));
  return importer->AddNodeFor(1, "copy", {cells}, {});
}

Status AddFull(Importer* importer, int rank, TfLiteFusedActivation activation, float cell_clip,
               float projection_clip, bool time_major) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, kNorms + 4));
  Layer layer;
  QUADRA_RETURN_IF_ERROR(ReadFull(*importer, &layer));
  QUADRA_RETURN_IF_ERROR(CheckInput(*importer, rank, layer.depth));
  // There the CPU shows the gate of the cell in place of its state.
  if (activation == kTfLiteActNone) return Unsupported("it has no activation; one is needed");
  layer.activation = activation;
  layer.cell_clip = cell_clip;
  layer.projection_clip = projection_clip;
  layer.time_major = time_major;
  ValueId cells;
  return AddLayer(importer, &layer, kOutputState, kCellState, &cells);
}

Status ImportLstm(Importer* importer) {
  const TfLiteLSTMParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  if (params->kernel_type == kTfLiteLSTMBasicKernel) return ImportBasic(importer);
  return AddFull(importer, 2, params->activation, params->cell_clip, params->proj_clip,
                 /*time_major=*/true);
}

Status ImportLstmSequence(Importer* importer) {
  const TfLiteUnidirectionalSequenceLSTMParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  if (params->diagonal_recurrent_tensors) {
    return Unsupported("its recurrent weights are diagonals");
  }
  return AddFull(importer, 3, params->activation, params->cell_clip, params->proj_clip,
                 params->time_major);
}

Status AddRnn(Importer* importer, int rank, TfLiteFusedActivation activation, bool time_major) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(5, 5));
  Layer layer;
  QUADRA_RETURN_IF_ERROR(ReadSize(*importer, 1, &layer.units, &layer.depth));
  QUADRA_RETURN_IF_ERROR(CheckInput(*importer, rank, layer.depth));
  const int units = layer.outputs = layer.units;
  layer.variant = "rs";
  layer.gates = 1;
  layer.activation = activation;
  layer.time_major = time_major;
  QUADRA_RETURN_IF_ERROR(AddRows(*importer, 1, units, layer.depth, &layer.weights));
  QUADRA_RETURN_IF_ERROR(AddColumns(*importer, 2, units, units, &layer.table));
  QUADRA_RETURN_IF_ERROR(AddRows(*importer, 3, units, 1, &layer.bias));
  return AddLayer(importer, &layer, 4, -1, nullptr);
}

Status ImportRnn(Importer* importer) {
  const TfLiteRNNParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  return AddRnn(importer, 2, params->activation, /*time_major=*/true);
}

Status ImportRnnSequence(Importer* importer) {
  const TfLiteSequenceRNNParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  return AddRnn(importer, 3, params->activation, params->time_major);
}

}  // namespace

extern const Op kLstmOp;
const Op kLstmOp = {
    .name = "lstm",
    .builtins = {kTfLiteBuiltinLstm, -1},
    .max_version = 4,
    .import = ImportLstm,
};

extern const Op kLstmSequenceOp;
const Op kLstmSequenceOp = {
    .name = "lstm_sequence",
    .builtins = {kTfLiteBuiltinUnidirectionalSequenceLstm, -1},
    .max_version = 4,
    .import = ImportLstmSequence,
};

extern const Op kRnnOp;
const Op kRnnOp = {
    .name = "rnn",
    .builtins = {kTfLiteBuiltinRnn, -1},
    .max_version = 3,
    .import = ImportRnn,
};

extern const Op kRnnSequenceOp;
const Op kRnnSequenceOp = {
    .name = "rnn_sequence",
    .builtins = {kTfLiteBuiltinUnidirectionalSequenceRnn, -1},
    .max_version = 3,
    .import = ImportRnnSequence,
};

}  // namespace quadra
