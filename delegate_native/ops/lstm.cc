// LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM, RNN, UNIDIRECTIONAL_SEQUENCE_RNN: a step or a sequence of
// steps of a recurrent layer. The input's part of all steps is one convolution, the rest the op
// `recurrent`; the state is in variable tensors. BIDIRECTIONAL_SEQUENCE_LSTM and _RNN are two such
// layers, of which one goes through the steps from the last to the first.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "delegate_native/ops/recurrent_layer.h"

namespace quadra {
namespace {

// Inputs of the full LSTM: where groups with one for each gate begin, and their order of gates.
constexpr int kInputWeights = 1, kRecurrentWeights = 5, kPeepholes = 9, kBiases = 12, kNorms = 20;
constexpr int kProjection = 16;
constexpr int kInput = 0, kForget = 1, kCell = 2, kOutput = 3;

// Steps from 0 to 1 of integer gates.
constexpr float kGateSteps = 4096.0f;

// A norm takes gates of any scale. Of integers each gate has one, and is brought to that of gates
// without norms, so that kernels have one grid for all.
Status GateFactor(const Importer& importer, int gate, float* factor) {
  *factor = 1.0f;
  const TfLiteTensor* inner = importer.Intermediate(gate);
  if (!IsQuantized(importer.InputTensor(0)) || !inner) return Status();
  std::vector<float> grid;
  QUADRA_RETURN_IF_ERROR(importer.Grid(*inner, kTfLiteInt16, &grid));
  *factor = grid[0] / kGateSteps;
  return Status();
}

void Multiply(float factor, size_t first, std::vector<float>* numbers) {
  for (size_t i = first; i < numbers->size() && factor != 1.0f; ++i) (*numbers)[i] *= factor;
}

Status ReadFull(const Importer& importer, RecurrentLayer* layer) {
  const int first = layer->settings.first;
  const int input_weights = first + kInputWeights, recurrent_weights = first + kRecurrentWeights;
  const int peepholes = first + kPeepholes, projection = first + kProjection;
  int rows;
  QUADRA_RETURN_IF_ERROR(
      importer.MatrixSize(input_weights + kOutput, &layer->units, &layer->depth));
  QUADRA_RETURN_IF_ERROR(importer.MatrixSize(recurrent_weights + kOutput, &rows, &layer->outputs));
  QUADRA_RETURN_IF_ERROR(ReadDepth(importer, kOutput, layer));
  const int units = layer->units, outputs = layer->outputs;
  const bool has_input = importer.HasInput(input_weights);
  const bool has_peepholes = importer.HasInput(peepholes + kForget);
  const bool has_norms = layer->settings.has_norms && importer.HasInput(kNorms + kForget);
  const bool projects = importer.HasInput(projection) || outputs != units;
  layer->variant = has_input ? "cells_input" : "cells";
  if (has_peepholes) layer->variant += "_peepholes";
  if (has_norms) layer->variant += "_norms";
  if (projects) layer->variant += "_projection";
  constexpr int kGates[] = {kCell, kForget, kOutput, kInput};
  layer->gates = has_input ? 4 : 3;
  std::vector<float>* table = &layer->table;
  float factors[4] = {1.0f, 1.0f, 1.0f, 1.0f};
  for (int i = 0; i < layer->gates; ++i) {
    if (has_norms) QUADRA_RETURN_IF_ERROR(GateFactor(importer, kGates[i], &factors[i]));
    const size_t weights_begin = layer->weights.size(), table_begin = table->size();
    QUADRA_RETURN_IF_ERROR(AddInputWeights(importer, input_weights + kGates[i], kGates[i], layer));
    QUADRA_RETURN_IF_ERROR(
        AddColumns(importer, recurrent_weights + kGates[i], units, outputs, table));
    Multiply(factors[i], weights_begin, &layer->weights);
    Multiply(factors[i], table_begin, table);
  }
  for (int i = 1; i < layer->gates && has_peepholes; ++i) {
    const int input = peepholes + std::min(kGates[i], 2);  // the cell has none
    const size_t begin = table->size();
    QUADRA_RETURN_IF_ERROR(AddRows(importer, input, units, 1, table));
    Multiply(factors[i], begin, table);
  }
  for (int i = 0; i < layer->gates; ++i) {
    if (has_norms) QUADRA_RETURN_IF_ERROR(AddRows(importer, kNorms + kGates[i], units, 1, table));
    QUADRA_RETURN_IF_ERROR(
        AddRows(importer, first + kBiases + kGates[i], units, 1, has_norms ? table : &layer->bias));
  }
  if (!projects) return Status();
  QUADRA_RETURN_IF_ERROR(AddColumns(importer, projection, outputs, units, table));
  if (importer.HasInput(projection + 1)) {
    return AddRows(importer, projection + 1, outputs, 1, table);
  }
  table->resize(table->size() + static_cast<size_t>(PaddedToSlices(outputs)));
  return Status();
}

// The integers of a layer of 8 bits: gates of 16, of which 12 are a fraction, cells of 16, and the
// layer's results, which are brought to their grid at every step.
Status ReadGrids(const Importer& importer, RecurrentLayer* layer) {
  constexpr int kHidden = 4;  // intermediate
  const RecurrentSettings& settings = layer->settings;
  if (!IsQuantized(importer.InputTensor(0))) return Status();
  const TfLiteTensor* inner = importer.Intermediate(kHidden);
  if (!settings.may_be_integers || !inner || settings.activation != kTfLiteActTanh) {
    return Unsupported(
        "it is quantized and not in the form that is supported: one direction, tanh");
  }
  const bool projects = layer->Has("projection");
  std::vector<float> cell, hidden, state, output;
  const TfLiteTensor& cells = importer.InputTensor(settings.cell_state);
  const TfLiteTensor& outputs = importer.InputTensor(settings.output_state);
  QUADRA_RETURN_IF_ERROR(importer.Grid(cells, kTfLiteInt16, &cell));
  QUADRA_RETURN_IF_ERROR(importer.Grid(outputs, kTfLiteInt8, &state));
  QUADRA_RETURN_IF_ERROR(importer.Grid(*inner, kTfLiteInt8, &hidden));
  QUADRA_RETURN_IF_ERROR(importer.Grid(importer.OutputTensor(0), kTfLiteInt8, &output));
  // The CPU copies integers from one to the other.
  if (output != state || (!projects && hidden != state)) {
    return Unsupported("its results have another scale than its state");
  }
  layer->variant += "_grids";
  layer->grids.SetFloats("cell", std::move(cell));
  layer->grids.SetFloats("hidden", std::move(hidden));
  if (projects) layer->grids.SetFloats("output", std::move(output));
  return Status();
}

// All weights in one matrix, for the input and the outputs before; gates in the order input, cell,
// forget, output. The CPU's scratch, outputs 2 and 3, is not made.
Status ImportBasic(Importer* importer) {
  constexpr int kWeights = 2, kBias = 3;
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(5, 5, 4));
  int rows, columns;
  QUADRA_RETURN_IF_ERROR(importer->MatrixSize(kWeights, &rows, &columns));
  RecurrentLayer layer;
  layer.variant = "cells_input";
  layer.gates = 4;
  layer.units = layer.outputs = rows / 4;
  layer.depth = columns - layer.units;
  QUADRA_RETURN_IF_ERROR(importer->CheckRows(2, layer.depth));
  SharedFloats weights, bias;
  QUADRA_RETURN_IF_ERROR(ReadMatrix(*importer, kWeights, 4 * layer.units, columns, &weights));
  QUADRA_RETURN_IF_ERROR(ReadMatrix(*importer, kBias, 4 * layer.units, 1, &bias));
  for (int gate : {1, 2, 3, 0}) {
    const int units = layer.units, first = gate * units;
    const float* part = weights->data() + static_cast<std::ptrdiff_t>(first) * columns;
    AppendRows(part, units, layer.depth, columns, &layer.weights);
    AppendColumns(part + layer.depth, units, units, columns, &layer.table);
    AppendRows(bias->data() + first, units, 1, 1, &layer.bias);
  }
  layer.settings.output_state = 1;
  layer.settings.cell_state = 4;
  QUADRA_RETURN_IF_ERROR(AddLayer(importer, &layer));
  return importer->AddNodeFor(1, "copy", {layer.cells}, {});
}

Status AddFull(Importer* importer, const RecurrentSettings& settings, ValueId* result) {
  RecurrentLayer layer;
  layer.settings = settings;
  QUADRA_RETURN_IF_ERROR(ReadFull(*importer, &layer));
  // There the CPU shows the gate of the cell in place of its state.
  if (settings.activation == kTfLiteActNone) {
    return Unsupported("it has no activation; one is needed");
  }
  QUADRA_RETURN_IF_ERROR(ReadGrids(*importer, &layer));
  QUADRA_RETURN_IF_ERROR(AddLayer(importer, &layer));
  *result = layer.result;
  return Status();
}

Status AddRnn(Importer* importer, const RecurrentSettings& settings, ValueId* result) {
  RecurrentLayer layer;
  layer.settings = settings;
  const int weights = settings.first + 1;
  QUADRA_RETURN_IF_ERROR(importer->MatrixSize(weights, &layer.units, &layer.depth));
  QUADRA_RETURN_IF_ERROR(ReadDepth(*importer, 0, &layer));
  const int units = layer.outputs = layer.units;
  layer.variant = "plain";
  layer.gates = 1;
  QUADRA_RETURN_IF_ERROR(AddInputWeights(*importer, weights, 0, &layer));
  QUADRA_RETURN_IF_ERROR(AddColumns(*importer, weights + 1, units, units, &layer.table));
  QUADRA_RETURN_IF_ERROR(AddRows(*importer, weights + 2, units, 1, &layer.bias));
  QUADRA_RETURN_IF_ERROR(AddLayer(importer, &layer));
  *result = layer.result;
  return Status();
}

// Adds a layer: AddFull or AddRnn.
using AddOne = Status (*)(Importer* importer, const RecurrentSettings& settings, ValueId* result);

// The second layer's inputs and states come so much later than the first one's. `auxiliary`: an
// input that the layers may have besides; behind it are its weights, for each layer so many.
struct Second {
  int first, states, auxiliary, gates;
};

Status AddBoth(Importer* importer, AddOne add, const Second& second, bool merges,
               RecurrentSettings* settings) {
  const int auxiliary = second.auxiliary, auxiliary_weights = auxiliary + 1;
  QUADRA_RETURN_IF_ERROR(
      importer->ExpectInputs(1, auxiliary_weights + 2 * second.gates, merges ? 1 : 2));
  // Both layers read it beside the first input; without weights of its own the second one reads it
  // in place of that.
  const bool has_auxiliary = importer->HasInput(auxiliary);
  const bool beside = importer->HasInput(auxiliary_weights + (second.gates > 1 ? kForget : 0));
  if (has_auxiliary && beside) {
    settings->auxiliary = auxiliary;
    settings->auxiliary_weights = auxiliary_weights;
  }
  ValueId results[2];
  settings->output = merges ? -1 : 0;
  QUADRA_RETURN_IF_ERROR(add(importer, *settings, &results[0]));
  settings->first = second.first;
  settings->auxiliary_weights += second.gates;
  if (has_auxiliary && !beside) settings->input = auxiliary;
  settings->output_state += second.states;
  settings->cell_state += second.states;
  settings->backwards = true;
  settings->output = merges ? -1 : 1;
  QUADRA_RETURN_IF_ERROR(add(importer, *settings, &results[1]));
  if (!merges) return Status();
  return importer->AddNode("concat", {results[0], results[1]}, AlongChannels());
}

// Reads the parameters that all forms of a layer have, each in a struct of its own.
template <typename Params>
RecurrentSettings OfLstm(const Params& params) {
  RecurrentSettings settings;
  settings.activation = params.activation;
  settings.cell_clip = params.cell_clip;
  settings.projection_clip = params.proj_clip;
  return settings;
}

template <typename Params>
RecurrentSettings OfRnn(const Params& params) {
  RecurrentSettings settings;
  settings.output_state = 4;
  settings.activation = params.activation;
  return settings;
}

template <typename Params>
RecurrentSettings InSequence(RecurrentSettings settings, const Params& params) {
  settings.rank = 3;
  settings.time_major = params.time_major;
  return settings;
}

Status ImportLstm(Importer* importer) {
  const TfLiteLSTMParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  if (params->kernel_type == kTfLiteLSTMBasicKernel) return ImportBasic(importer);
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, kNorms + 4));
  RecurrentSettings settings = OfLstm(*params);
  settings.may_be_integers = true;
  ValueId result;
  return AddFull(importer, settings, &result);
}

Status ImportLstmBoth(Importer* importer) {
  const TfLiteBidirectionalSequenceLSTMParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  RecurrentSettings settings = InSequence(OfLstm(*params), *params);
  settings.has_norms = false;
  settings.output_state = 35;
  settings.cell_state = 36;
  return AddBoth(importer, AddFull, {17, 2, 39, 4}, params->merge_outputs, &settings);
}

Status ImportLstmSequence(Importer* importer) {
  if (importer->builtin() == kTfLiteBuiltinBidirectionalSequenceLstm) {
    return ImportLstmBoth(importer);
  }
  const TfLiteUnidirectionalSequenceLSTMParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  if (params->diagonal_recurrent_tensors) {
    return Unsupported("its recurrent weights are diagonals");
  }
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, kNorms + 4));
  RecurrentSettings settings = InSequence(OfLstm(*params), *params);
  settings.may_be_integers = true;
  ValueId result;
  return AddFull(importer, settings, &result);
}

Status ImportRnn(Importer* importer) {
  const TfLiteRNNParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(5, 5));
  const RecurrentSettings settings = OfRnn(*params);
  ValueId result;
  return AddRnn(importer, settings, &result);
}

Status ImportRnnBoth(Importer* importer) {
  const TfLiteBidirectionalSequenceRNNParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  RecurrentSettings settings = InSequence(OfRnn(*params), *params);
  return AddBoth(importer, AddRnn, {4, 4, 9, 1}, params->merge_outputs, &settings);
}

Status ImportRnnSequence(Importer* importer) {
  if (importer->builtin() == kTfLiteBuiltinBidirectionalSequenceRnn) return ImportRnnBoth(importer);
  const TfLiteSequenceRNNParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(5, 5));
  RecurrentSettings settings = InSequence(OfRnn(*params), *params);
  ValueId result;
  return AddRnn(importer, settings, &result);
}

}  // namespace

extern const Op kLstmOp;
const Op kLstmOp = {
    .name = "lstm",
    .builtins = {kTfLiteBuiltinLstm, -1},
    .max_version = 4,
    .params_bytes = sizeof(TfLiteLSTMParams),
    .import = ImportLstm,
};

extern const Op kLstmSequenceOp;
const Op kLstmSequenceOp = {
    .name = "lstm_sequence",
    .builtins = {kTfLiteBuiltinUnidirectionalSequenceLstm, kTfLiteBuiltinBidirectionalSequenceLstm,
                 -1},
    .max_version = 4,
    .params_bytes = sizeof(TfLiteUnidirectionalSequenceLSTMParams),
    .import = ImportLstmSequence,
};

extern const Op kRnnOp;
const Op kRnnOp = {
    .name = "rnn",
    .builtins = {kTfLiteBuiltinRnn, -1},
    .max_version = 3,
    .params_bytes = sizeof(TfLiteRNNParams),
    .import = ImportRnn,
};

extern const Op kRnnSequenceOp;
const Op kRnnSequenceOp = {
    .name = "rnn_sequence",
    .builtins = {kTfLiteBuiltinUnidirectionalSequenceRnn, kTfLiteBuiltinBidirectionalSequenceRnn,
                 -1},
    .max_version = 3,
    .params_bytes = sizeof(TfLiteBidirectionalSequenceRNNParams),
    .import = ImportRnnSequence,
};

}  // namespace quadra
