// WHILE: a loop over the steps of an LSTM, a GRU or an RNN, as the layers of Keras 3 are converted.
// It becomes the op `recurrent`. Any other loop stays on the CPU, which runs its body.
#include <algorithm>
#include <limits>
#include <utility>

#include "delegate_native/base/texts.h"
#include "delegate_native/ops/loop_step.h"
#include "delegate_native/ops/recurrent_layer.h"
#include "delegate_native/tflite/tensor_info.h"

namespace quadra {
namespace {

// How often the loop turns: its condition compares counters with constants.
Status CountTurns(const Importer& loop, const LoopPart& condition, int* turns) {
  *turns = std::numeric_limits<int>::max();
  int compared = 0, joined = 0;
  for (int i = 0; i < condition.nodes(); ++i) {
    const TfLiteIntArray& inputs = *condition.node(i).inputs;
    std::vector<int> limit;
    int first;
    if (condition.builtin(i) == kTfLiteBuiltinLogicalAnd) {
      ++joined;
    } else if (condition.builtin(i) == kTfLiteBuiltinLess && inputs.size == 2 &&
               condition.IsInput(inputs.data[0]) && condition.Ints(inputs.data[1], &limit) &&
               limit.size() == 1 && loop.ConstantInt(inputs.data[0], &first).ok() && first == 0) {
      ++compared;
      *turns = std::min(*turns, limit[0]);
    } else {
      compared = 0;
      break;
    }
  }
  if (compared > 0 && joined == compared - 1) return Status();
  return Unsupported("it does not count from 0 to a constant");
}

// The layer's results before its first step must be its state, where steps may be left out.
Status CheckFirst(const Importer& loop, const LoopStep& step) {
  if (step.shown() < 0) return Status();
  SharedFloats shown, outputs;
  QUADRA_RETURN_IF_ERROR(loop.ConstantFloats(step.shown(), &shown));
  QUADRA_RETURN_IF_ERROR(loop.ConstantFloats(step.outputs(), &outputs));
  if (*shown == *outputs) return Status();
  return Unsupported("before its first step its result is not its state");
}

Status CheckInputs(const Importer& loop, const LoopStep& step) {
  for (int i = 0; i < loop.num_inputs(); ++i) {
    int first;
    const bool counts = step.IsCounter(i) && loop.ConstantInt(i, &first).ok() && first == 0;
    const bool is_of_layer = i == step.results() || i == step.sequence() || i == step.outputs() ||
                             i == step.cells() || i == step.mask() || i == step.shown();
    if (counts + is_of_layer + step.IsWeights(i) != 1) {
      return Unsupported("its input %d is none that %s has", i, step.cell().name);
    }
  }
  return Status();
}

Status CheckLength(const Importer& loop, const LoopPart& body, const LoopStep& step, int turns) {
  const int length = body.Dim(step.sequence(), 0);
  const int results = step.keeps_last() ? 1 : length;
  const bool fit = step.results() < 0 || body.Dim(step.results(), 0) == results;
  const bool fits_mask = step.mask() < 0 || body.Dim(step.mask(), 0) == length;
  if (turns != length || !fit || !fits_mask || loop.num_outputs() != loop.num_inputs()) {
    return Unsupported("it turns %d times for a sequence of %d steps", turns, length);
  }
  return Status();
}

// Adds up rows of a gate's terms.
Status AddUp(const LoopPart& body, const std::vector<LoopStep::Term>& terms, char of, int rows,
             int columns, std::vector<float>* sum) {
  const size_t size = static_cast<size_t>(rows) * static_cast<size_t>(columns);
  sum->assign(size, 0.0f);
  for (const LoopStep::Term& term : terms) {
    if (term.of != of) continue;
    SharedFloats floats;
    QUADRA_RETURN_IF_ERROR(body.Floats(term.tensor, &floats));
    const size_t begin = static_cast<size_t>(term.begin) * static_cast<size_t>(columns);
    if ((of != 'b' && (body.Rank(term.tensor) != 2 || body.Last(term.tensor) != columns)) ||
        floats->size() < begin + size) {
      return Unsupported("'%s' of its body has %zu numbers, fewer than its gates need",
                         NameOf(body.tensor(term.tensor)), floats->size());
    }
    for (size_t i = 0; i < size; ++i) (*sum)[i] += (*floats)[begin + i];
  }
  return Status();
}

Status ReadWeights(const LoopPart& body, const LoopStep& step, RecurrentLayer* layer) {
  const int units = layer->units, depth = layer->depth;
  std::vector<float> sum;
  for (int gate = 0; gate < layer->gates; ++gate) {
    const std::vector<LoopStep::Term>& terms = step.terms(gate);
    QUADRA_RETURN_IF_ERROR(AddUp(body, terms, 'x', units, depth, &sum));
    AppendRows(sum.data(), units, depth, depth, &layer->weights);
    const bool splits = gate == 0 && step.has_candidate();
    QUADRA_RETURN_IF_ERROR(
        AddUp(body, splits ? step.terms(kCandidate) : terms, 'h', units, units, &sum));
    AppendColumns(sum.data(), units, units, units, &layer->table);
    QUADRA_RETURN_IF_ERROR(AddUp(body, terms, 'b', units, 1, &sum));
    AppendRows(sum.data(), units, 1, 1, &layer->bias);
  }
  if (!step.has_candidate()) return Status();
  QUADRA_RETURN_IF_ERROR(AddUp(body, step.terms(kCandidate), 'b', units, 1, &sum));
  AppendRows(sum.data(), units, 1, 1, &layer->table);
  return Status();
}

// One of the loop's outputs, which are in the order of its inputs.
Status AddOutput(Importer* importer, const LoopStep& step, int turns, const RecurrentLayer& layer,
                 int i) {
  ValueId value = i == step.cells() ? layer.cells : layer.last;
  if (i == step.results() && !step.keeps_last()) {
    if (!step.hides()) return Status();  // the layer made them
    ValueId mask;
    QUADRA_RETURN_IF_ERROR(importer->Operand(step.mask(), &mask, kBools));
    const ValueId zero = AddScalar(importer, Constant(std::vector<float>{0.0f}));
    return importer->AddNodeFor(i, "select", {mask, layer.result, zero}, {});
  }
  if (i == step.outputs() || i == step.cells() || i == step.shown()) {
    return importer->AddNodeFor(i, "reshape", {value}, ReshapeTo(layer.units));
  }
  if (step.IsCounter(i)) {
    value = AddScalar(importer, Constant(Element::kInt32, {turns}));
  } else if (i != step.results()) {
    QUADRA_RETURN_IF_ERROR(importer->Operand(i, &value, kAllElements));
  }
  return importer->AddNodeFor(i, "copy", {value}, {});
}

Status Import(Importer* importer) {
  const TfLiteWhileParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  std::vector<const TfLiteContext*> outer = importer->known()->subgraphs;
  outer.push_back(importer->context());
  LoopPart condition(*importer, params->cond_subgraph_index, outer);
  LoopPart body(*importer, params->body_subgraph_index, outer);
  QUADRA_RETURN_IF_ERROR(condition.Read());
  QUADRA_RETURN_IF_ERROR(body.Read());
  int turns;
  QUADRA_RETURN_IF_ERROR(CountTurns(*importer, condition, &turns));
  LoopStep step(body);
  QUADRA_RETURN_IF_ERROR(step.Read());
  QUADRA_RETURN_IF_ERROR(CheckInputs(*importer, step));
  QUADRA_RETURN_IF_ERROR(CheckLength(*importer, body, step, turns));
  QUADRA_RETURN_IF_ERROR(CheckFirst(*importer, step));
  RecurrentLayer layer;
  layer.settings.rank = 3;
  layer.settings.input = step.sequence();
  layer.settings.mask = step.mask();
  layer.settings.output_state = step.outputs();
  layer.settings.cell_state = step.cells();
  layer.settings.activation = step.activation();
  layer.settings.output = step.keeps_last() || step.hides() ? -1 : step.results();
  layer.units = layer.outputs = step.units();
  layer.depth = step.depth();
  layer.gates = step.cell().gates;
  layer.variant = step.cell().variant;
  if (step.mask() >= 0) layer.variant += "_mask";
  QUADRA_RETURN_IF_ERROR(importer->CheckRows(3, layer.depth, step.sequence()));
  QUADRA_RETURN_IF_ERROR(ReadWeights(body, step, &layer));
  QUADRA_RETURN_IF_ERROR(AddLayer(importer, &layer));
  importer->Note(
      TextOf("computed as %s of %d steps; its body is not run", step.cell().name, turns));
  for (int i = 0; i < importer->num_outputs(); ++i) {
    QUADRA_RETURN_IF_ERROR(AddOutput(importer, step, turns, layer, i));
  }
  return Status();
}

}  // namespace

extern const Op kRecurrentLoopOp;
const Op kRecurrentLoopOp = {
    .name = "recurrent_loop",
    .builtins = {kTfLiteBuiltinWhile, -1},
    .max_version = 1,
    .params_bytes = sizeof(TfLiteWhileParams),
    .import = Import,
};

}  // namespace quadra
