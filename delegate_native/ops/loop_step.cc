#include "delegate_native/ops/loop_step.h"

#include <algorithm>
#include <string>
#include <utility>

#include "delegate_native/base/texts.h"
#include "delegate_native/tflite/op_names.h"
#include "delegate_native/tflite/tensor_info.h"

namespace quadra {
namespace {

const RecurrentCell kCells[] = {
    {"an LSTM", "*s2t=+*s1c*s3t0", "cells_input", 4},
    {"a GRU", "+*s1h*-s1t+0*s23", "update", 3},
    {"an RNN", "t0", "plain", 1},
};
// A gate's sum has a few; a hostile one has its terms twice, and these again.
constexpr size_t kMostTerms = 16;

bool Bind(int number, int* to) {
  if (*to < 0) *to = number;
  return *to == number;
}

// Whether the node is the op and nothing else: parameters may change what it is.
bool IsPlain(const TfLiteNode& node, int builtin) {
  const void* params = node.builtin_data;
  switch (builtin) {
    case kTfLiteBuiltinAdd:
    case kTfLiteBuiltinSub:  // its parameters begin alike
      return params && static_cast<const TfLiteAddParams*>(params)->activation == kTfLiteActNone;
    case kTfLiteBuiltinMul:
      return params && static_cast<const TfLiteMulParams*>(params)->activation == kTfLiteActNone;
    case kTfLiteBuiltinFullyConnected: {
      const auto* product = static_cast<const TfLiteFullyConnectedParams*>(params);
      return product && product->activation == kTfLiteActNone && product->weights_format == 0;
    }
    case kTfLiteBuiltinConcatenation: {
      const auto* joined = static_cast<const TfLiteConcatenationParams*>(params);
      return joined && joined->axis == 0 && joined->activation == kTfLiteActNone;
    }
    case kTfLiteBuiltinGather: {
      const auto* gather = static_cast<const TfLiteGatherParams*>(params);
      return gather && gather->axis == 0 && gather->batch_dims == 0;
    }
    case kTfLiteBuiltinStridedSlice: {
      const auto* slice = static_cast<const TfLiteStridedSliceParams*>(params);
      return slice && slice->ellipsis_mask == 0 && slice->new_axis_mask == 0 &&
             slice->shrink_axis_mask == 0;
    }
    default: return true;
  }
}

int LeastInputs(int builtin) {
  switch (builtin) {
    case kTfLiteBuiltinStridedSlice: return 4;
    case kTfLiteBuiltinSlice:
    case kTfLiteBuiltinSelectV2: return 3;
    case kTfLiteBuiltinAdd:
    case kTfLiteBuiltinSub:
    case kTfLiteBuiltinMul:
    case kTfLiteBuiltinFullyConnected:
    case kTfLiteBuiltinConcatenation:
    case kTfLiteBuiltinGather:
    case kTfLiteBuiltinSplit: return 2;
    default: return 1;
  }
}

}  // namespace

Status LoopPart::Read() {
  if (!subgraph_.ok()) return InvalidModel("one of its subgraphs is none");
  QUADRA_RETURN_IF_ERROR(ReadCalled(subgraph_.context(), &model_));
  makers_.assign(subgraph_.context()->tensors_size, -1);
  for (int i = 0; i < nodes(); ++i) {
    QUADRA_RETURN_IF_ERROR(entry(i).status);
    const TfLiteIntArray &inputs = *node(i).inputs, &outputs = *node(i).outputs;
    for (int k = 0; k < inputs.size; ++k) {
      const int tensor = inputs.data[k];
      if (tensor >= 0 && makers_[static_cast<size_t>(tensor)] < 0 && !IsInput(tensor) &&
          !IsConstant(tensor)) {
        return Unsupported("node %d of its subgraph reads what nobody made before", i);
      }
    }
    if (outputs.size == 0) return Unsupported("node %d of its subgraph makes nothing", i);
    for (int k = 0; k < outputs.size; ++k) {
      int& maker = makers_[static_cast<size_t>(outputs.data[k])];
      if (maker >= 0) return InvalidModel("two nodes of its subgraph make one tensor");
      maker = i;
    }
  }
  for (int i = 0; i < loop_.num_inputs(); ++i) {
    if (!loop_.HasInput(i) || static_cast<size_t>(i) >= makers_.size() || MakerOf(i) >= 0 ||
        IsConstantTensor(tensor(i)) || !SameTensor(loop_.InputTensor(i), tensor(i))) {
      return Unsupported("its input %d and its subgraph's differ in type or size", i);
    }
  }
  return Status();
}

std::string LoopPart::NameOf(int node) const {
  const TfLiteRegistration& op = *entry(node).registration;
  return OpName(op.builtin_code, op.custom_name);
}

bool LoopPart::Ints(int i, std::vector<int>* ints) const {
  ConstantData data;
  if (i < 0 || !IsConstantTensor(tensor(i)) || tensor(i).type != kTfLiteInt32 ||
      !constants_.Get(subgraph_.context(), i, /*wants_floats=*/false, &data).ok()) {
    return false;
  }
  *ints = data->ints();
  return true;
}

bool LoopPart::IsFilled(int i, int with) const {
  std::vector<int> ints;
  return Ints(i, &ints) &&
         std::count(ints.begin(), ints.end(), with) == static_cast<std::ptrdiff_t>(ints.size());
}

bool LoopPart::IsConstant(int i) const {
  if (i < 0) return false;
  return IsConstantTensor(tensor(i)) || (IsInput(i) && loop_.IsConstant(i));
}

Status LoopPart::Floats(int i, SharedFloats* floats) const {
  if (IsInput(i)) return loop_.ConstantFloats(i, floats);
  ConstantData data;
  QUADRA_RETURN_IF_ERROR(constants_.Get(subgraph_.context(), i, /*wants_floats=*/true, &data));
  *floats = data->floats();
  return Status();
}

Status LoopStep::Read() {
  QUADRA_RETURN_IF_ERROR(CheckTypes());
  ReadCounters();
  if (!FindCell() || !ReadMask() || !FindResults()) {
    return Unsupported("its body is no step of an LSTM, a GRU or an RNN over a sequence");
  }
  const auto other = std::find(found_.used.begin(), found_.used.end(), false);
  if (other == found_.used.end()) return Status();
  const int node = static_cast<int>(other - found_.used.begin());
  return Unsupported("node %d (%s) of its body is no part of %s", node, body_.NameOf(node).c_str(),
                     cell_->name);
}

TfLiteFusedActivation LoopStep::activation() const {
  return found_.activation == kTfLiteBuiltinRelu ? kTfLiteActRelu : kTfLiteActTanh;
}

bool LoopStep::IsCounter(int input) const {
  return std::find(counters_.begin(), counters_.end(), input) != counters_.end();
}

bool LoopStep::IsWeights(int input) const {
  if (input == found_.zero) return true;
  for (const std::vector<Term>& terms : found_.terms) {
    for (const Term& term : terms) {
      if (term.tensor == input) return true;
    }
  }
  return false;
}

// Integers that stand for floats are rounded between the nodes.
Status LoopStep::CheckTypes() const {
  for (int i = 0; i < body_.nodes(); ++i) {
    const TfLiteType type = body_.tensor(body_.OutputOf(i)).type;
    if (type != kTfLiteFloat32 && type != kTfLiteInt32 && type != kTfLiteBool) {
      return Unsupported("node %d (%s) of its body makes %s", i, body_.NameOf(i).c_str(),
                         TypeName(type));
    }
  }
  return Status();
}

// Integers that one is added to.
void LoopStep::ReadCounters() {
  for (int i = 0; i < body_.nodes(); ++i) {
    const TfLiteIntArray& inputs = *body_.node(i).inputs;
    const bool counts = body_.builtin(i) == kTfLiteBuiltinAdd && inputs.size == 2 &&
                        body_.IsInput(inputs.data[0]) && body_.IsFilled(inputs.data[1], 1) &&
                        Make(body_.OutputOf(i), kTfLiteBuiltinAdd);
    counters_.push_back(counts ? inputs.data[0] : -1);
  }
}

bool LoopStep::FindCell() {
  const Found before = found_;
  for (int i = body_.nodes(); i-- > 0;) {
    for (const RecurrentCell& cell : kCells) {
      found_ = before;
      next_output_ = Through(body_.OutputOf(i));
      const char* end = Match(cell.formula, next_output_);
      if (!end || *end || !AreWhole(cell)) continue;
      cell_ = &cell;
      return true;
    }
  }
  return false;
}

// Whether each gate has the parts that it is to have, and the step reads a sequence.
bool LoopStep::AreWhole(const RecurrentCell& cell) const {
  const bool splits = cell.gates == kCandidate;
  for (int gate = 0; gate < 4; ++gate) {
    if (found_.gates[gate] < 0) continue;
    const bool wants_input = gate < cell.gates, wants_outputs = gate > 0 || !splits;
    if (Has(gate, 'x') != wants_input || Has(gate, 'h') != wants_outputs) return false;
  }
  return found_.sequence >= 0 && found_.outputs >= 0;
}

bool LoopStep::Has(int gate, char of) const {
  const std::vector<Term>& terms = found_.terms[gate];
  return std::any_of(terms.begin(), terms.end(), [of](const Term& one) { return one.of == of; });
}

// A step that the mask leaves out has the states of the one before, and its result or none.
bool LoopStep::ReadMask() {
  int kept = 0;
  const int next_output = next_output_;
  for (int i = 0; i < body_.nodes(); ++i) {
    const TfLiteNode* node = Make(body_.OutputOf(i), kTfLiteBuiltinSelectV2);
    if (!node) continue;
    const int next = Through(node->inputs->data[1]), before = node->inputs->data[2];
    if (!IsStep(node->inputs->data[0], &found_.mask) || body_.Last(found_.mask) != 1 ||
        body_.tensor(found_.mask).type != kTfLiteBool) {
      return false;
    }
    const bool is_cells = next == found_.next_cells;
    if (!is_cells && next != next_output) return false;
    if (before == (is_cells ? found_.cells : found_.outputs)) {
      ++kept;
      continue;
    }
    if (is_cells || next_output_ != next_output) return false;
    next_output_ = body_.OutputOf(i);
    found_.hides = IsAll(before, 0.0f);
    if (found_.hides) found_.zero = before;
    if (!found_.hides && !BindState(before, &found_.shown)) return false;
  }
  return found_.mask < 0 || kept == (found_.cells < 0 ? 1 : 2);
}

// The results of all steps, in which one is replaced, or that of the last step; a loop may have
// states alone.
bool LoopStep::FindResults() {
  for (int i = 0; i < body_.nodes(); ++i) {
    if (IsReplaced(body_.OutputOf(i))) return true;
  }
  for (int i = 0; i < body_.nodes(); ++i) {
    const int made = body_.OutputOf(i);
    if (body_.Rank(made) != 3 || Through(made) != next_output_) continue;
    for (int input = 0; body_.IsInput(input); ++input) {
      if (input == found_.sequence || !SameTensor(body_.tensor(input), body_.tensor(made)))
        continue;
      results_ = input;
      keeps_last_ = true;
      return !found_.hides;
    }
  }
  return found_.shown < 0 && !found_.hides;
}

// Results of steps before, the next output, and results of steps behind it.
bool LoopStep::IsReplaced(int tensor) {
  const Found before = found_;
  const TfLiteNode* node = Make(tensor, kTfLiteBuiltinConcatenation);
  if (node && node->inputs->size == 3 && body_.Rank(tensor) == 3 &&
      Through(node->inputs->data[1]) == next_output_) {
    const TfLiteNode* left = Make(node->inputs->data[0], kTfLiteBuiltinSlice);
    const TfLiteNode* right = Make(node->inputs->data[2], kTfLiteBuiltinSlice);
    if (left && right && body_.IsInput(left->inputs->data[0]) &&
        left->inputs->data[0] == right->inputs->data[0] &&
        body_.IsFilled(left->inputs->data[1], 0) && IsPlace(left->inputs->data[2], 0, -1) &&
        IsPlace(right->inputs->data[1], 1, 0) && body_.IsFilled(right->inputs->data[2], -1)) {
      results_ = left->inputs->data[0];
      return SameTensor(body_.tensor(tensor), body_.tensor(results_));
    }
  }
  found_ = before;
  return false;
}

// Whether these integers are the step's number, or the next one, and `rest` along other axes.
bool LoopStep::IsPlace(int tensor, int later, int rest) {
  const TfLiteNode* node = Make(tensor, kTfLiteBuiltinConcatenation);
  if (!node || node->inputs->size != 2 || !body_.IsFilled(node->inputs->data[1], rest)) {
    return false;
  }
  const TfLiteNode* number = Make(node->inputs->data[0], kTfLiteBuiltinReshape);
  if (!number) return false;
  const int from = number->inputs->data[0], maker = body_.MakerOf(from);
  if (later == 0) return from == found_.place;
  return maker >= 0 && counters_[static_cast<size_t>(maker)] == found_.place;
}

int LoopStep::Through(int tensor) {
  while (body_.Rank(tensor) > 0) {
    const int maker = body_.MakerOf(tensor);
    if (maker < 0 || body_.builtin(maker) != kTfLiteBuiltinReshape) break;
    const int from = body_.node(maker).inputs->data[0];
    if (from < 0 || body_.Last(from) != body_.Last(tensor)) break;
    found_.used[static_cast<size_t>(maker)] = true;
    tensor = from;
  }
  return tensor;
}

const TfLiteNode* LoopStep::Make(int tensor, int builtin) {
  const int maker = body_.MakerOf(tensor);
  if (maker < 0 || body_.builtin(maker) != builtin) return nullptr;
  const TfLiteNode& node = body_.node(maker);
  if (!IsPlain(node, builtin)) return nullptr;
  for (int i = 0; i < LeastInputs(builtin); ++i) {
    if (i >= node.inputs->size || node.inputs->data[i] < 0) return nullptr;
  }
  found_.used[static_cast<size_t>(maker)] = true;
  return &node;
}

const char* LoopStep::Match(const char* formula, int tensor) {
  tensor = Through(tensor);
  const char what = *formula++;
  switch (what) {
    case '*': return MatchBoth(formula, Make(tensor, kTfLiteBuiltinMul));
    case '+': return MatchBoth(formula, Make(tensor, kTfLiteBuiltinAdd));
    case 's': return MatchOne(formula, Make(tensor, kTfLiteBuiltinLogistic), 0);
    case 't': return MatchActivation(formula, tensor);
    case '-': {
      const TfLiteNode* node = Make(tensor, kTfLiteBuiltinSub);
      return node && IsAll(node->inputs->data[0], 1.0f) ? MatchOne(formula, node, 1) : nullptr;
    }
    case '=': return found_.next_cells = tensor, Match(formula, tensor);
    case 'h': return BindState(tensor, &found_.outputs) ? formula : nullptr;
    case 'c': return BindState(tensor, &found_.cells) ? formula : nullptr;
    default: return MatchGate(what - '0', tensor) ? formula : nullptr;
  }
}

const char* LoopStep::MatchOne(const char* formula, const TfLiteNode* node, int input) {
  return node ? Match(formula, node->inputs->data[input]) : nullptr;
}

// In either order.
const char* LoopStep::MatchBoth(const char* formula, const TfLiteNode* node) {
  if (!node) return nullptr;
  const Found before = found_;
  for (int first = 0; first < 2; ++first) {
    found_ = before;
    const char* end = Match(formula, node->inputs->data[first]);
    if (end) end = Match(end, node->inputs->data[1 - first]);
    if (end) return end;
  }
  return nullptr;
}

// The same one everywhere.
const char* LoopStep::MatchActivation(const char* formula, int tensor) {
  for (int builtin : {kTfLiteBuiltinTanh, kTfLiteBuiltinRelu}) {
    const TfLiteNode* node = Make(tensor, builtin);
    if (node && Bind(builtin, &found_.activation)) return MatchOne(formula, node, 0);
  }
  return nullptr;
}

bool LoopStep::IsAll(int tensor, float number) {
  SharedFloats floats;
  tensor = Weights(tensor);
  // One that the loop hands on has no state's shape.
  return (!body_.IsInput(tensor) || body_.Rank(tensor) == 0) && body_.IsConstant(tensor) &&
         body_.Floats(tensor, &floats).ok() &&
         std::count(floats->begin(), floats->end(), number) ==
             static_cast<std::ptrdiff_t>(floats->size());
}

bool LoopStep::BindState(int tensor, int* state) const {
  return body_.IsInput(tensor) && body_.tensor(tensor).type == kTfLiteFloat32 &&
         body_.Rank(tensor) == 2 && Bind(tensor, state);
}

bool LoopStep::MatchGate(int gate, int tensor) {
  if (found_.gates[gate] >= 0) return found_.gates[gate] == tensor;
  found_.gates[gate] = tensor;
  return body_.Rank(tensor) == 2 && AddTerms(tensor, 0, &found_.terms[gate]);
}

// Takes a sum apart. `begin`: of the gate's units in the tensor's rows.
bool LoopStep::AddTerms(int tensor, int begin, std::vector<Term>* terms) {
  if (terms->size() > kMostTerms) return false;
  tensor = Weights(Through(tensor));
  if (body_.IsConstant(tensor)) return terms->push_back({'b', tensor, begin}), true;
  const int maker = body_.MakerOf(tensor);
  const int builtin = maker < 0 ? -1 : body_.builtin(maker);
  const TfLiteNode* node = Make(tensor, builtin);
  if (!node) return false;
  const int* inputs = node->inputs->data;
  int first;
  switch (builtin) {
    case kTfLiteBuiltinAdd:
      return AddTerms(inputs[0], begin, terms) && AddTerms(inputs[1], begin, terms);
    case kTfLiteBuiltinSplit:
      return PartBegin(*node, tensor, &first) && AddTerms(inputs[1], begin + first, terms);
    case kTfLiteBuiltinStridedSlice:
      return ColumnsBegin(*node, tensor, &first) && AddTerms(inputs[0], begin + first, terms);
    case kTfLiteBuiltinFullyConnected: return AddProduct(*node, begin, terms);
    default: return false;
  }
}

bool LoopStep::AddProduct(const TfLiteNode& node, int begin, std::vector<Term>* terms) {
  const int* inputs = node.inputs->data;
  const bool is_step = IsStep(inputs[0], &found_.sequence);
  if (!is_step && !BindState(inputs[0], &found_.outputs)) return false;
  terms->push_back({is_step ? 'x' : 'h', Weights(inputs[1]), begin});
  if (node.inputs->size > 2 && inputs[2] >= 0) terms->push_back({'b', Weights(inputs[2]), begin});
  return true;
}

int LoopStep::Weights(int tensor) {
  const TfLiteNode* node = Make(tensor, kTfLiteBuiltinDequantize);
  return node && body_.IsConstant(node->inputs->data[0]) ? node->inputs->data[0] : tensor;
}

// One of equal parts of the rows.
bool LoopStep::PartBegin(const TfLiteNode& split, int tensor, int* begin) const {
  std::vector<int> axis;
  if (!body_.Ints(split.inputs->data[0], &axis) || axis.size() != 1 ||
      body_.Rank(split.inputs->data[1]) != 2 || (axis[0] != 1 && axis[0] != -1)) {
    return false;
  }
  const int* outputs = split.outputs->data;
  const auto number = std::find(outputs, outputs + split.outputs->size, tensor) - outputs;
  *begin = static_cast<int>(number) * body_.Last(tensor);
  return true;
}

// Some columns of all rows.
bool LoopStep::ColumnsBegin(const TfLiteNode& slice, int tensor, int* begin) const {
  const auto& params = *static_cast<const TfLiteStridedSliceParams*>(slice.builtin_data);
  const int from = slice.inputs->data[0];
  std::vector<int> first;
  if (body_.Rank(from) != 2 || body_.Rank(tensor) != 2 ||
      body_.Dim(from, 0) != body_.Dim(tensor, 0) || !body_.Ints(slice.inputs->data[1], &first) ||
      first.size() != 2 || !body_.IsFilled(slice.inputs->data[3], 1)) {
    return false;
  }
  *begin = params.begin_mask & 2 ? 0 : first[1];
  return *begin >= 0 && *begin <= body_.Last(from) - body_.Last(tensor);
}

// Whether it is one step of an input: that of a counter.
bool LoopStep::IsStep(int tensor, int* sequence) {
  const TfLiteNode* node = Make(Through(tensor), kTfLiteBuiltinGather);
  if (!node) return false;
  const int from = node->inputs->data[0], place = node->inputs->data[1];
  return body_.IsInput(from) && body_.Rank(from) == 3 && body_.IsInput(place) && IsCounter(place) &&
         Bind(from, sequence) && Bind(place, &found_.place);
}

}  // namespace quadra
