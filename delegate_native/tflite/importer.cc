#include "delegate_native/tflite/importer.h"

#include <cstring>
#include <limits>
#include <utility>

namespace quadra {

void Importer::Begin(int index, const TfLiteNode* node, const TfLiteRegistration* registration,
                     size_t params_bytes) {
  ReadNode(index, node, registration, params_bytes);
  tensors_.Begin(index);
}

bool Importer::IsConstant(int input) const { return tensors_.IsConstant(InputIndex(input)); }

int Importer::InputRank(int input) const { return tensors_.Rank(InputIndex(input)); }

Status Importer::InputShape(int input, Shape* shape, int* rank) const {
  return tensors_.Describe(InputIndex(input), shape, rank);
}

Status Importer::CheckHas(int input) const {
  return HasInput(input) ? Status() : InvalidModel("its input %d is absent", input);
}

bool Importer::HasWeightsOfUint8(int input) const {
  const TfLiteTensor& tensor = InputTensor(input);
  return tensor.type == kTfLiteUInt8 && IsQuantized(tensor) &&
         OutputTensor(0).type == kTfLiteFloat32;
}

void Importer::FindWeightsOfUint8(int input) const {
  if (HasWeightsOfUint8(input)) known()->constants.ReadAsInt8(InputIndex(input));
}

Status Importer::Weights(int input, ValueId* value, Elements elements) {
  if (HasInput(input) && IsConstant(input)) FindWeightsOfUint8(input);
  return Operand(input, value, elements);
}

Status Importer::Operand(int input, ValueId* value, Elements elements) {
  QUADRA_RETURN_IF_ERROR(CheckHas(input));
  return tensors_.Operand(InputIndex(input), elements, value);
}

Status Importer::ConstantOperand(int input, ValueId* value, Elements elements) {
  QUADRA_RETURN_IF_ERROR(CheckHas(input));
  FindWeightsOfUint8(input);
  return tensors_.Constant(InputIndex(input), elements, value);
}

Status Importer::State(int input, ValueId* value, bool quantized) {
  const bool is_state = HasInput(input) && InputTensor(input).is_variable;
  return is_state ? states_.Read(InputIndex(input), quantized, value) : Operand(input, value);
}

void Importer::SetState(int input, ValueId value) {
  if (InputTensor(input).is_variable) states_.Set(InputIndex(input), value);
}

Status Importer::ReadResource() {
  QUADRA_RETURN_IF_ERROR(CheckHas(0));
  ValueId value;
  QUADRA_RETURN_IF_ERROR(states_.ReadResource(InputIndex(0), OutputIndex(0), &value));
  return AddNode("copy", {value}, {});
}

Status Importer::AssignResource() {
  QUADRA_RETURN_IF_ERROR(CheckHas(0));
  ValueId value;
  QUADRA_RETURN_IF_ERROR(Operand(1, &value, kAllElements));
  return states_.AssignResource(InputIndex(0), InputIndex(1), value);
}

ValueId Importer::OntoGrid(int state, ValueId floats) {
  return states_.OntoGrid(InputIndex(state), floats);
}

Status Importer::WeightedOperands(std::vector<ValueId>* values, int src, int bias) {
  values->assign(HasInput(bias) ? 3 : 2, -1);
  QUADRA_RETURN_IF_ERROR(Operand(src, &(*values)[0]));
  QUADRA_RETURN_IF_ERROR(ConstantOperand(1, &(*values)[1]));
  return values->size() > 2 ? ConstantOperand(bias, &(*values)[2]) : Status();
}

Status Importer::ConstantInts(int input, std::vector<int>* ints) const {
  QUADRA_RETURN_IF_ERROR(CheckHas(input));
  const TfLiteTensor& t = InputTensor(input);
  if (known()->constants.Has(InputIndex(input))) {
    ConstantData data;
    QUADRA_RETURN_IF_ERROR(
        known()->constants.Get(context(), InputIndex(input), /*wants_floats=*/false, &data));
    if (!IsFloat(data->element()) && data->fits_ints()) {
      *ints = data->ints();
      tensors_.Hold(InputIndex(input), data);
      return Status();
    }
  }
  if (!IsConstantTensor(t)) {
    return Unsupported(
        "input %d ('%s') is computed while the model runs; it must be a constant of the model",
        input, NameOf(t));
  }
  const int64_t count = ElementCount(t.dims);
  Element element;
  if (!ElementOf(t.type, &element) || IsFloat(element)) {
    return Unsupported("input %d ('%s') is %s; int32 and int64 are supported", input, NameOf(t),
                       TypeName(t.type));
  }
  const size_t width = BytesOf(element);
  if (count < 0 || t.bytes != static_cast<size_t>(count) * width) {
    return InvalidModel("constant '%s' has %zu bytes for %lld numbers", NameOf(t), t.bytes,
                        static_cast<long long>(count));
  }
  const Constant constant(t.data, element, /*half=*/false, static_cast<size_t>(count));
  if (!constant.fits_ints()) {
    return Unsupported("constant '%s' holds a number beyond 32 bits", NameOf(t));
  }
  *ints = constant.ints();
  return Status();
}

Status Importer::Sizes(int input, const char* name, Attributes* attributes) const {
  const ValueId value = HasInput(input) ? tensors_.ValueOf(InputIndex(input)) : -1;
  if (value >= 0 && !graph()->IsConstant(value)) {
    attributes->SetIntsOf(name, value);
    return Status();
  }
  std::vector<int> ints;
  QUADRA_RETURN_IF_ERROR(ConstantInts(input, &ints));
  attributes->SetInts(name, std::move(ints));
  return Status();
}

Status Importer::ConstantInt(int input, int* number) const {
  std::vector<int> ints;
  QUADRA_RETURN_IF_ERROR(ConstantInts(input, &ints));
  if (ints.size() != 1) return InvalidModel("its input %d is %zu numbers", input, ints.size());
  *number = ints[0];
  return Status();
}

Status Importer::CheckRows(int rank, int depth, int input) const {
  const TfLiteIntArray* dims = InputTensor(input).dims;
  if (depth > 0 && InputRank(input) == rank && dims && dims->size == rank &&
      dims->data[rank - 1] == depth) {
    return Status();
  }
  return Unsupported("its input %d has rank %d; rank %d with rows of %d numbers is supported",
                     input, InputRank(input), rank, depth);
}

Status Importer::MatrixSize(int input, int* rows, int* columns) const {
  const TfLiteIntArray* dims = HasInput(input) ? InputTensor(input).dims : nullptr;
  if (!dims || dims->size != 2 || dims->data[0] < 1 || dims->data[1] < 1) {
    return InvalidModel("its input %d is no matrix of weights", input);
  }
  *rows = dims->data[0];
  *columns = dims->data[1];
  return Status();
}

Status Importer::ConstantFloats(int input, SharedFloats* floats) const {
  QUADRA_RETURN_IF_ERROR(CheckHas(input));
  FindWeightsOfUint8(input);
  ConstantData data;
  QUADRA_RETURN_IF_ERROR(
      known()->constants.Get(context(), InputIndex(input), /*wants_floats=*/true, &data));
  if (!IsFloat(data->element())) {
    return Unsupported("input %d ('%s') is %s; %s is supported", input, NameOf(InputTensor(input)),
                       NameOf(data->element()), tensors_.Wanted(kFloats).c_str());
  }
  *floats = data->floats();
  tensors_.Hold(InputIndex(input), data);
  return Status();
}

Status Importer::ConstantFloat(int input, float* number) const {
  SharedFloats floats;
  QUADRA_RETURN_IF_ERROR(ConstantFloats(input, &floats));
  if (floats->size() != 1)
    return InvalidModel("its input %d is %zu numbers", input, floats->size());
  *number = floats->front();
  return Status();
}

Status Importer::Grid(const TfLiteTensor& tensor, TfLiteType type, std::vector<float>* grid) const {
  if (tensor.type != type || !ScalesOf(tensor)) {
    return Unsupported("'%s' is %s; quantized %s is supported", NameOf(tensor),
                       TypeName(tensor.type), TypeName(type));
  }
  QUADRA_RETURN_IF_ERROR(CheckQuantized(tensor, "tensor", known()->allows_quantized));
  const Attributes attributes = GridOf(tensor);
  for (const char* word : {"inverse", "scale", "low", "high"}) {
    grid->push_back(attributes.Float(word));
  }
  return Status();
}

Status Importer::CheckUnscaled(int input) const {
  if (!HasInput(input) || !IsQuantized(InputTensor(input))) return Status();
  return Unsupported("'%s' holds integers with a scale, which the CPU takes as plain integers",
                     NameOf(InputTensor(input)));
}

Status Importer::CheckAlike(const std::vector<ValueId>& values) const {
  const Value& first = graph()->value(values[0]);
  for (ValueId id : values) {
    const Value& value = graph()->value(id);
    if (value.element == first.element || (IsFloat(value.element) && IsFloat(first.element)))
      continue;
    return InvalidModel("its operands are %s and %s", NameOf(first.element), NameOf(value.element));
  }
  return Status();
}

Status ReadActivation(TfLiteFusedActivation activation, const char** op, Attributes* attributes) {
  const float infinity = std::numeric_limits<float>::infinity();
  *op = nullptr;
  switch (activation) {
    case kTfLiteActNone: break;
    case kTfLiteActRelu:
    case kTfLiteActRelu6:
    case kTfLiteActReluN1To1:
      *op = "clamp";
      attributes->SetFloat("low", activation == kTfLiteActReluN1To1 ? -1.0f : 0.0f);
      attributes->SetFloat("high", activation == kTfLiteActRelu    ? infinity
                                   : activation == kTfLiteActRelu6 ? 6.0f
                                                                   : 1.0f);
      break;
    case kTfLiteActTanh: *op = "tanh"; break;
    case kTfLiteActSigmoid: *op = "logistic"; break;
    default: return Unsupported("its fused activation has code %d, which is unknown", activation);
  }
  return Status();
}

Status Importer::AddNode(const char* op, std::vector<ValueId>&& inputs, Attributes&& attributes,
                         TfLiteFusedActivation activation) {
  const char* after;
  Attributes after_attributes;
  QUADRA_RETURN_IF_ERROR(ReadActivation(activation, &after, &after_attributes));
  const Element element = graph()->value(inputs[0]).element;
  const bool clamps_ints = element != Element::kInt64 && after && strcmp(after, "clamp") == 0;
  if (after && !IsFloat(element) && !clamps_ints) {
    return Unsupported("its fused activation %s is of floats, its operands are %s", after,
                       NameOf(element));
  }
  if (after) {
    const ValueId inner = AddInnerNode(op, std::move(inputs), std::move(attributes));
    return AddNode(after, {inner}, std::move(after_attributes));
  }
  return AddNodeFor(0, op, std::move(inputs), std::move(attributes));
}

Status Importer::AddNodeFor(int made, const char* op, std::vector<ValueId>&& inputs,
                            Attributes&& attributes) {
  ValueId output;
  QUADRA_RETURN_IF_ERROR(tensors_.Output(OutputIndex(made), &output));
  const TfLiteTensor& t = OutputTensor(made);
  if (!IsQuantized(t)) {
    tensors_.AddNode(op, std::move(inputs), std::move(attributes), output);
    return Status();
  }
  // The result of the op, brought to the numbers that the tensor can hold.
  const ValueId computed = AddInnerNode(op, std::move(inputs), std::move(attributes));
  tensors_.AddNode("requantize", {computed}, GridOf(t), output);
  return Status();
}

ValueId Importer::AddInnerNode(const char* op, std::vector<ValueId>&& inputs,
                               Attributes&& attributes) {
  return tensors_.AddInnerNode(op, std::move(inputs), std::move(attributes));
}

Status Importer::AddConstantOutput(ConstantData data) {
  return tensors_.ConstantOutput(OutputIndex(0), std::move(data));
}

ValueId Importer::AddConstant(Shape shape, std::vector<float> floats) {
  return graph()->AddConstant(Format("constant_%d", index()), shape, std::move(floats));
}

ValueId Importer::ReshapeConstant(ValueId constant, Shape shape) {
  Value reshaped = graph()->value(constant);
  reshaped.shape = shape;
  reshaped.rank = 4;
  return graph()->AddValue(std::move(reshaped));
}

}  // namespace quadra
