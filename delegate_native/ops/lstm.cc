// LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM, RNN, UNIDIRECTIONAL_SEQUENCE_RNN: a step or a sequence of
// steps of a recurrent layer, which keeps its state in variable tensors.
#include <algorithm>

#include "delegate_native/ops/op.h"
#include "delegate_native/ops/recurrent.h"

namespace quadra {
namespace {

// Where inputs of the full LSTM begin, and their order by gate in each group.
constexpr int kInputWeights = 1, kRecurrentWeights = 5, kPeepholes = 9, kBiases = 12, kNorms = 20;
constexpr int kProjection = 16, kProjectionBias = 17, kOutputState = 18, kCellState = 19;
constexpr int kInput = 0, kForget = 1, kCell = 2, kOutput = 3;

// Rows and columns of a weight matrix.
Status ReadSize(const Importer& importer, int input, int* rows, int* columns) {
  if (!importer.HasInput(input)) return InvalidModel("its input %d is absent", input);
  const TfLiteIntArray* dims = importer.InputTensor(input).dims;
  if (!dims || dims->size != 2 || dims->data[0] < 1 || dims->data[1] < 1) {
    return InvalidModel("its weights (input %d) are no matrix", input);
  }
  *rows = dims->data[0];
  *columns = dims->data[1];
  return Status();
}

Status AddMatrix(const Importer& importer, int input, int rows, int columns,
                 std::vector<Matrix>* matrices) {
  Matrix matrix;
  QUADRA_RETURN_IF_ERROR(importer.ConstantFloats(input, &matrix.floats));
  matrix.stride = static_cast<size_t>(columns);
  if (matrix.floats->size() != matrix.stride * static_cast<size_t>(rows)) {
    return InvalidModel("its input %d has %zu numbers, for %d x %d", input, matrix.floats->size(),
                        rows, columns);
  }
  matrices->push_back(std::move(matrix));
  return Status();
}

Status CheckInput(const Importer& importer, int rank, int depth) {
  const TfLiteIntArray* dims = importer.InputTensor(0).dims;
  if (importer.InputRank(0) == rank && dims && dims->size == rank && dims->data[rank - 1] == depth)
    return Status();
  return Unsupported("its input has rank %d; rank %d and %d numbers in a row are supported",
                     importer.InputRank(0), rank, depth);
}

// The layer, with its state in variables.
Status AddLayer(Importer* importer, const Recurrent& layer, const std::vector<int>& variables) {
  std::vector<ValueId> states(variables.size()), after;
  for (size_t i = 0; i < states.size(); ++i) {
    QUADRA_RETURN_IF_ERROR(importer->State(variables[i], &states[i]));
  }
  QUADRA_RETURN_IF_ERROR(AddRecurrent(importer, layer, states, &after));
  for (size_t i = 0; i < states.size(); ++i) importer->SetState(variables[i], after[i]);
  return Status();
}

Status ReadFull(const Importer& importer, Recurrent* layer) {
  int rows;
  QUADRA_RETURN_IF_ERROR(ReadSize(importer, kInputWeights + kOutput, &layer->units, &layer->depth));
  QUADRA_RETURN_IF_ERROR(ReadSize(importer, kRecurrentWeights + kOutput, &rows, &layer->outputs));
  const int units = layer->units;
  const bool has_peepholes = importer.HasInput(kPeepholes + 1);
  const bool has_norms = importer.HasInput(kNorms + kForget);
  for (int gate : {kCell, kForget, kInput, kOutput}) {
    if (gate == kInput && !importer.HasInput(kInputWeights)) continue;
    QUADRA_RETURN_IF_ERROR(
        AddMatrix(importer, kInputWeights + gate, units, layer->depth, &layer->input));
    QUADRA_RETURN_IF_ERROR(
        AddMatrix(importer, kRecurrentWeights + gate, units, layer->outputs, &layer->recurrent));
    QUADRA_RETURN_IF_ERROR(AddMatrix(importer, kBiases + gate, units, 1, &layer->bias));
    if (has_norms)
      QUADRA_RETURN_IF_ERROR(AddMatrix(importer, kNorms + gate, units, 1, &layer->norms));
    if (has_peepholes && gate != kCell) {
      QUADRA_RETURN_IF_ERROR(
          AddMatrix(importer, kPeepholes + std::min(gate, 2), units, 1, &layer->peepholes));
    }
  }
  for (int input : {kProjection, kProjectionBias}) {
    if (!importer.HasInput(input)) break;
    const int columns = input == kProjection ? units : 1;
    QUADRA_RETURN_IF_ERROR(AddMatrix(importer, input, layer->outputs, columns, &layer->projection));
  }
  if (!layer->projection.empty() || layer->outputs == units) return Status();
  return InvalidModel("it has %d cells and %d outputs, and no projection", units, layer->outputs);
}

// The basic kernel has all weights in one matrix, which its input and its outputs before share.
Status ImportBasic(Importer* importer) {
  constexpr int kWeights = 2, kBias = 3;
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(5, 5, 4));
  Recurrent layer;
  layer.activation = kTfLiteActTanh;
  int rows, columns;
  QUADRA_RETURN_IF_ERROR(ReadSize(*importer, kWeights, &rows, &columns));
  layer.units = layer.outputs = rows / 4;
  layer.depth = columns - layer.units;
  if (rows % 4 != 0 || layer.depth < 1) {
    return InvalidModel("its weights are %d x %d", rows, columns);
  }
  QUADRA_RETURN_IF_ERROR(CheckInput(*importer, 2, layer.depth));
  std::vector<Matrix> given;
  QUADRA_RETURN_IF_ERROR(AddMatrix(*importer, kWeights, rows, columns, &given));
  QUADRA_RETURN_IF_ERROR(AddMatrix(*importer, kBias, rows, 1, &given));
  // Its order is input, cell, forget, output.
  for (size_t gate : {1, 2, 0, 3}) {
    Matrix part = given[0], bias = given[1];
    bias.first = gate * static_cast<size_t>(layer.units);
    part.first = bias.first * part.stride;
    layer.input.push_back(part);
    part.first += static_cast<size_t>(layer.depth);
    layer.recurrent.push_back(part);
    layer.bias.push_back(bias);
  }
  std::vector<ValueId> states(2), after;
  const int inputs[] = {1, 4};
  for (size_t i = 0; i < 2; ++i) {
    const bool keeps = importer->InputTensor(inputs[i]).is_variable;
    QUADRA_RETURN_IF_ERROR(keeps ? importer->State(inputs[i], &states[i])
                                 : importer->Operand(inputs[i], &states[i]));
  }
  QUADRA_RETURN_IF_ERROR(AddRecurrent(importer, layer, states, &after));
  for (size_t i = 0; i < 2; ++i) {
    if (importer->InputTensor(inputs[i]).is_variable) importer->SetState(inputs[i], after[i]);
  }
  // The CPU's scratch, outputs 2 and 3, is not made.
  return importer->AddNodeFor(1, "copy", {after[1]}, {});
}

template <typename Params>
Status AddFull(Importer* importer, const Params& params, int rank, Recurrent* layer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, kNorms + 4));
  QUADRA_RETURN_IF_ERROR(ReadFull(*importer, layer));
  QUADRA_RETURN_IF_ERROR(CheckInput(*importer, rank, layer->depth));
  layer->activation = params.activation;
  if (params.activation == kTfLiteActNone) {
    // There the CPU shows the gate of the cell in place of its state.
    return Unsupported("it has no activation; one is needed");
  }
  layer->cell_clip = params.cell_clip;
  layer->projection_clip = params.proj_clip;
  return AddLayer(importer, *layer, {kOutputState, kCellState});
}

Status ImportLstm(Importer* importer) {
  const TfLiteLSTMParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  if (params->kernel_type == kTfLiteLSTMBasicKernel) return ImportBasic(importer);
  Recurrent layer;
  return AddFull(importer, *params, 2, &layer);
}

Status ImportLstmSequence(Importer* importer) {
  const TfLiteUnidirectionalSequenceLSTMParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  if (params->diagonal_recurrent_tensors) {
    return Unsupported("its recurrent weights are diagonals; matrices are supported");
  }
  Recurrent layer;
  layer.time_major = params->time_major;
  return AddFull(importer, *params, 3, &layer);
}

Status AddRnn(Importer* importer, TfLiteFusedActivation activation, int rank, bool time_major) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(5, 5));
  Recurrent layer;
  QUADRA_RETURN_IF_ERROR(ReadSize(*importer, 1, &layer.units, &layer.depth));
  QUADRA_RETURN_IF_ERROR(CheckInput(*importer, rank, layer.depth));
  layer.outputs = layer.units;
  layer.activation = activation;
  layer.time_major = time_major;
  QUADRA_RETURN_IF_ERROR(AddMatrix(*importer, 1, layer.units, layer.depth, &layer.input));
  QUADRA_RETURN_IF_ERROR(AddMatrix(*importer, 2, layer.units, layer.units, &layer.recurrent));
  QUADRA_RETURN_IF_ERROR(AddMatrix(*importer, 3, layer.units, 1, &layer.bias));
  return AddLayer(importer, layer, {4});
}

Status ImportRnn(Importer* importer) {
  const TfLiteRNNParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  return AddRnn(importer, params->activation, 2, /*time_major=*/true);
}

Status ImportRnnSequence(Importer* importer) {
  const TfLiteSequenceRNNParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  return AddRnn(importer, params->activation, 3, params->time_major);
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
