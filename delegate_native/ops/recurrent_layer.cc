#include "delegate_native/ops/recurrent_layer.h"

#include <cstddef>
#include <limits>
#include <utility>

#include "delegate_native/ops/window.h"

namespace quadra {
namespace {

// The gates before the state has its part in them.
Status AddInputPart(Importer* importer, RecurrentLayer* layer, ValueId* gates) {
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(layer->settings.input, &src));
  if (layer->settings.auxiliary >= 0) {
    ValueId auxiliary;
    QUADRA_RETURN_IF_ERROR(importer->Operand(layer->settings.auxiliary, &auxiliary));
    src = importer->AddInnerNode("concat", {src, auxiliary}, AlongChannels());
  }
  const int rows = layer->gates * PaddedToSlices(layer->units);
  std::vector<ValueId> inputs = {
      src, importer->AddConstant({rows, 1, 1, layer->depth}, std::move(layer->weights))};
  if (!layer->bias.empty()) {
    inputs.push_back(importer->AddConstant({1, 1, 1, rows}, std::move(layer->bias)));
  }
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(SetWindow(kTfLitePaddingValid, 1, 1, 1, 1, &attributes));
  attributes.SetInt("rank", importer->InputRank(layer->settings.input));
  *gates = importer->AddInnerNode("conv2d", std::move(inputs), std::move(attributes));
  return Status();
}

Status SetAttributes(const RecurrentLayer& layer, Attributes* attributes) {
  *attributes = layer.grids;
  const char* activation;
  QUADRA_RETURN_IF_ERROR(ReadActivation(layer.settings.activation, &activation, attributes));
  if (activation) attributes->SetWord("activation", activation);
  attributes->SetWord("variant", layer.variant);
  attributes->SetInts("sizes", {layer.gates, layer.units, layer.outputs});
  const float infinity = std::numeric_limits<float>::infinity();
  const RecurrentSettings& settings = layer.settings;
  attributes->SetFloat("cell_clip", settings.cell_clip > 0 ? settings.cell_clip : infinity);
  attributes->SetFloat("projection_clip",
                       settings.projection_clip > 0 ? settings.projection_clip : infinity);
  attributes->SetInt("time_axis", settings.time_major ? 1 : 2);
  if (settings.backwards) attributes->SetInt("backwards", 1);
  return Status();
}

// Some channels of all steps, or of the one that the layer makes last.
Attributes Part(const RecurrentSettings& settings, int first, int count, bool last) {
  const int rank = settings.rank, time = settings.time_major ? 0 : 1;
  int end_mask = (1 << (rank - 1)) - 1;
  std::vector<int> begin(static_cast<size_t>(rank), 0), end = begin;
  begin.back() = first;
  end.back() = first + count;
  if (last && rank > 2 && !settings.backwards) begin[static_cast<size_t>(time)] = -1;
  if (last && rank > 2 && settings.backwards) {
    end[static_cast<size_t>(time)] = 1;
    end_mask -= 1 << time;
  }
  Attributes attributes;
  attributes.SetInts("strides", std::vector<int>(begin.size(), 1));
  attributes.SetInts("begin", std::move(begin));
  attributes.SetInts("end", std::move(end));
  attributes.SetInt("end_mask", end_mask);
  return attributes;
}

}  // namespace

void AppendRows(const float* from, int rows, int columns, int stride, std::vector<float>* to) {
  for (int i = 0; i < rows; ++i, from += stride) to->insert(to->end(), from, from + columns);
  to->resize(to->size() +
             static_cast<size_t>(PaddedToSlices(rows) - rows) * static_cast<size_t>(columns));
}

void AppendColumns(const float* from, int rows, int columns, int stride, std::vector<float>* to) {
  size_t at = to->size();
  to->resize(at + static_cast<size_t>(PaddedToSlices(rows)) *
                      static_cast<size_t>(PaddedToSlices(columns)));
  for (int j = 0; j < columns; ++j, at += static_cast<size_t>(PaddedToSlices(rows))) {
    const float* number = from + j;
    for (int i = 0; i < rows; ++i, number += stride) (*to)[at + static_cast<size_t>(i)] = *number;
  }
}

Status ReadMatrix(const Importer& importer, int input, int rows, int columns,
                  SharedFloats* floats) {
  QUADRA_RETURN_IF_ERROR(importer.ConstantFloats(input, floats));
  if ((*floats)->size() == static_cast<size_t>(rows) * static_cast<size_t>(columns))
    return Status();
  return InvalidModel("its input %d has %zu numbers for %d x %d", input, (*floats)->size(), rows,
                      columns);
}

Status AddRows(const Importer& importer, int input, int rows, int columns, std::vector<float>* to) {
  SharedFloats floats;
  QUADRA_RETURN_IF_ERROR(ReadMatrix(importer, input, rows, columns, &floats));
  AppendRows(floats->data(), rows, columns, columns, to);
  return Status();
}

Status AddColumns(const Importer& importer, int input, int rows, int columns,
                  std::vector<float>* to) {
  SharedFloats floats;
  QUADRA_RETURN_IF_ERROR(ReadMatrix(importer, input, rows, columns, &floats));
  AppendColumns(floats->data(), rows, columns, columns, to);
  return Status();
}

Status AddInputWeights(const Importer& importer, int input, int gate, RecurrentLayer* layer) {
  const RecurrentSettings& settings = layer->settings;
  if (settings.auxiliary < 0) {
    return AddRows(importer, input, layer->units, layer->depth, &layer->weights);
  }
  const int more = settings.auxiliary_weights + gate;
  const int units = layer->units, own = layer->depth - layer->auxiliary_depth;
  SharedFloats weights, auxiliary;
  QUADRA_RETURN_IF_ERROR(ReadMatrix(importer, input, units, own, &weights));
  QUADRA_RETURN_IF_ERROR(ReadMatrix(importer, more, units, layer->auxiliary_depth, &auxiliary));
  std::vector<float> joined;
  const float *left = weights->data(), *right = auxiliary->data();
  for (int i = 0; i < units; ++i, left += own, right += layer->auxiliary_depth) {
    joined.insert(joined.end(), left, left + own);
    joined.insert(joined.end(), right, right + layer->auxiliary_depth);
  }
  AppendRows(joined.data(), units, layer->depth, layer->depth, &layer->weights);
  return Status();
}

Status ReadDepth(const Importer& importer, int gate, RecurrentLayer* layer) {
  const RecurrentSettings& settings = layer->settings;
  QUADRA_RETURN_IF_ERROR(importer.CheckRows(settings.rank, layer->depth, settings.input));
  if (settings.auxiliary < 0) return Status();
  int units, *depth = &layer->auxiliary_depth;
  QUADRA_RETURN_IF_ERROR(importer.MatrixSize(settings.auxiliary_weights + gate, &units, depth));
  layer->depth += *depth;
  return importer.CheckRows(settings.rank, *depth, settings.auxiliary);
}

Attributes AlongChannels() {
  Attributes attributes;
  attributes.SetInt("axis", 3);
  return attributes;
}

Attributes ReshapeTo(int columns) {
  Attributes attributes;
  attributes.SetInts("shape", {-1, columns});
  return attributes;
}

ValueId AddScalar(Importer* importer, Constant number) {
  const ValueId value = importer->AddConstant({1, 1, 1, 1}, {0.0f});
  Value& scalar = importer->graph()->value(value);
  scalar.rank = 0;
  scalar.element = number.element();
  scalar.constant = std::make_shared<const Constant>(std::move(number));
  return value;
}

Status AddLayer(Importer* importer, RecurrentLayer* layer) {
  const RecurrentSettings& settings = layer->settings;
  const int outputs = layer->outputs;
  const bool has_cells = layer->Has("cells");
  ValueId gates, state;
  QUADRA_RETURN_IF_ERROR(AddInputPart(importer, layer, &gates));
  // The CPU takes states of any shape.
  QUADRA_RETURN_IF_ERROR(importer->State(settings.output_state, &state, settings.may_be_integers));
  state = importer->AddInnerNode("reshape", {state}, ReshapeTo(outputs));
  if (has_cells) {
    ValueId before;
    QUADRA_RETURN_IF_ERROR(importer->State(settings.cell_state, &before, settings.may_be_integers));
    before = importer->AddInnerNode("reshape", {before}, ReshapeTo(layer->units));
    state = importer->AddInnerNode("concat", {state, before}, AlongChannels());
  }
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(SetAttributes(*layer, &attributes));
  const int size = static_cast<int>(layer->table.size());
  const ValueId table = importer->AddConstant({1, 1, 1, size}, std::move(layer->table));
  if (settings.mask >= 0) {
    // A slice behind the gates, for devices bind few tensors.
    ValueId mask;
    QUADRA_RETURN_IF_ERROR(importer->Operand(settings.mask, &mask, kBools));
    const ValueId one = AddScalar(importer, Constant(std::vector<float>{1.0f}));
    const ValueId zero = AddScalar(importer, Constant(std::vector<float>{0.0f}));
    mask = importer->AddInnerNode("select", {mask, one, zero}, {});
    gates = importer->AddInnerNode("concat", {gates, mask}, AlongChannels());
  }
  const ValueId steps =
      importer->AddInnerNode("recurrent", {gates, table, state}, std::move(attributes));
  const auto part = [&](int first, int count, bool last) {
    return importer->AddInnerNode("strided_slice", {steps}, Part(settings, first, count, last));
  };
  if (settings.output < 0) {
    layer->result = part(0, outputs, /*last=*/false);
  } else {
    QUADRA_RETURN_IF_ERROR(importer->AddNodeFor(settings.output, "strided_slice", {steps},
                                                Part(settings, 0, outputs, /*last=*/false)));
  }
  layer->last = part(0, outputs, /*last=*/true);
  importer->SetState(settings.output_state, layer->last);
  if (!has_cells) return Status();
  layer->cells = part(PaddedToSlices(outputs), layer->units, /*last=*/true);
  importer->SetState(settings.cell_state, layer->cells);
  return Status();
}

}  // namespace quadra
