#include "delegate_native/tflite/graph_tensors.h"

#include <utility>

#include "delegate_native/tflite/quantization.h"
#include "delegate_native/tflite/tensor_info.h"

namespace quadra {

const KnownShape* GraphTensors::Known(int tensor) const {
  const auto known = known_->shapes.find(tensor);
  return known == known_->shapes.end() ? nullptr : &known->second;
}

bool GraphTensors::IsConstant(int tensor) const {
  return known_->constants.Has(tensor) || IsConstantTensor(context_->tensors[tensor]);
}

int GraphTensors::Rank(int tensor) const {
  const KnownShape* known = Known(tensor);
  return known ? known->rank : context_->tensors[tensor].dims->size;
}

Status GraphTensors::Describe(int tensor, Shape* shape, int* rank) const {
  if (const KnownShape* known = Known(tensor)) {
    *shape = known->shape;
    *rank = known->rank;
    return Status();
  }
  const TfLiteTensor& t = context_->tensors[tensor];
  if (!t.dims) return InvalidModel("tensor '%s' has no shape", NameOf(t));
  if (t.dims->size > kMostRank) {
    return Unsupported("tensor '%s' has rank %d; ranks up to %d are supported", NameOf(t),
                       t.dims->size, kMostRank);
  }
  *rank = t.dims->size;
  for (int i = 0; i < *rank; ++i) {
    const int n = t.dims->data[i];
    if (n <= 0) {
      return Unsupported("tensor '%s' has %s dimension (axis %d is %d)", NameOf(t),
                         n == 0 ? "an empty" : "an unknown", i, n);
    }
  }
  *shape = ShapeOf(t.dims->data, *rank);
  if (t.type == kTfLiteComplex64) *shape = InParts(*shape);
  if (!FitsInts(*shape)) {
    return Unsupported("tensor '%s' has the shape %s; up to 2^31 numbers are supported", NameOf(t),
                       ToString(*shape).c_str());
  }
  return Status();
}

ValueId GraphTensors::ValueOf(int tensor) const {
  const auto known = value_of_tensor_.find(tensor);
  return known == value_of_tensor_.end() ? -1 : known->second;
}

std::string GraphTensors::Wanted(Elements elements) const {
  const bool takes_grids =
      known_->allows_quantized && (elements & kFloats) && !(elements & Only(Element::kInt8));
  return NamesOf(elements) + (takes_grids ? ", or int8, uint8 and int16 with a scale," : "");
}

Status GraphTensors::Typed(const TfLiteTensor& tensor, const char* what, Elements elements,
                           Value* value) const {
  if (!ComputedElementOf(tensor.type, &value->element) || !(elements & Only(value->element))) {
    return Unsupported("%s '%s' is %s; %s is supported", what, NameOf(tensor),
                       TypeName(tensor.type), Wanted(elements).c_str());
  }
  if (!IsQuantized(tensor)) return Status();
  return Unsupported("%s '%s' is quantized %s; its integers are no numbers here", what,
                     NameOf(tensor), TypeName(tensor.type));
}

Status GraphTensors::CheckRuntime(int tensor, const char* what) const {
  const TfLiteTensor& t = context_->tensors[tensor];
  if (t.is_variable) {
    return Unsupported("%s '%s' is a variable that keeps its value between runs", what, NameOf(t));
  }
  // Texts always are, and their type says more. What is read of a resource variable is once the
  // interpreter has prepared it.
  if (t.allocation_type == kTfLiteDynamic && t.type != kTfLiteString && !Known(tensor)) {
    return Unsupported("%s '%s' has a size that is only known while the model runs", what,
                       NameOf(t));
  }
  return Status();
}

Status GraphTensors::Operand(int tensor, Elements elements, ValueId* value) {
  const ValueId known = ValueOf(tensor);
  const bool is_computed = known >= 0 && !graph_->IsConstant(known);
  if (!is_computed && IsConstant(tensor)) return Constant(tensor, elements, value);
  if (known < 0) QUADRA_RETURN_IF_ERROR(CheckRuntime(tensor, "input"));
  return Computed(tensor, elements, value);
}

Status GraphTensors::Constant(int tensor, Elements elements, ValueId* value) {
  const auto known = value_of_tensor_.find(tensor);
  if (known != value_of_tensor_.end() && graph_->IsConstant(known->second) &&
      (elements & Only(graph_->value(known->second).element))) {
    *value = known->second;
    return Status();
  }
  const TfLiteTensor& t = context_->tensors[tensor];
  Value made;
  QUADRA_RETURN_IF_ERROR(
      known_->constants.Get(context_, tensor, !(elements & kInts), &made.constant));
  Hold(tensor, made.constant);
  made.element = made.constant->element();
  if (!IsFloat(made.element)) QUADRA_RETURN_IF_ERROR(Typed(t, "constant", elements, &made));
  if (!(elements & Only(made.element))) {
    return Unsupported("constant '%s' is %s; %s is supported", NameOf(t), NameOf(made.element),
                       Wanted(elements).c_str());
  }
  QUADRA_RETURN_IF_ERROR(Describe(tensor, &made.shape, &made.rank));
  if (made.shape.elements() != static_cast<int64_t>(made.constant->size())) {
    return InvalidModel("constant '%s' has %zu values for shape %s", NameOf(t),
                        made.constant->size(), ToString(made.shape).c_str());
  }
  made.name = NameOf(t);
  *value = graph_->AddValue(std::move(made));
  // A computed value stays the tensor's, for those that can follow it.
  if (known == value_of_tensor_.end() || graph_->IsConstant(known->second))
    value_of_tensor_[tensor] = *value;
  return Status();
}

Status GraphTensors::Computed(int tensor, Elements elements, ValueId* value) {
  const TfLiteTensor& t = context_->tensors[tensor];
  if (IsQuantized(t) && elements & kFloats) return Floats(tensor, value);
  Value made;
  QUADRA_RETURN_IF_ERROR(Typed(t, "input", elements, &made));
  const auto known = value_of_tensor_.find(tensor);
  if (known != value_of_tensor_.end()) {
    *value = known->second;
    return Status();
  }
  QUADRA_RETURN_IF_ERROR(Describe(tensor, &made.shape, &made.rank));
  made.name = NameOf(t);
  *value = AddValueOf(tensor, std::move(made));
  return Status();
}

ValueId GraphTensors::AddValueOf(int tensor, Value&& value) {
  const ValueId added = graph_->AddValue(std::move(value));
  value_of_tensor_[tensor] = added;
  if (known_->subgraphs.empty() && !context_->tensors[tensor].is_variable) {
    graph_->tensors.emplace_back(tensor, added);
  }
  return added;
}

// Integers as the floats that they stand for.
Status GraphTensors::Floats(int tensor, ValueId* value) {
  const auto known = floats_of_tensor_.find(tensor);
  if (known != floats_of_tensor_.end()) {
    *value = known->second;
    return Status();
  }
  const TfLiteTensor& t = context_->tensors[tensor];
  QUADRA_RETURN_IF_ERROR(CheckQuantized(t, "input", known_->allows_quantized));
  Value stored;
  stored.element = StoredElement(t);
  QUADRA_RETURN_IF_ERROR(Describe(tensor, &stored.shape, &stored.rank));
  stored.name = NameOf(t);
  *value = AddInnerNode("dequantize", {AddValueOf(tensor, std::move(stored))}, GridOf(t));
  floats_of_tensor_[tensor] = *value;
  return Status();
}

ValueId GraphTensors::StoredValueOf(int tensor) {
  const ValueId value = ValueOf(tensor);
  const TfLiteTensor& t = context_->tensors[tensor];
  if (value < 0 || !IsQuantized(t) || graph_->IsConstant(value) ||
      !IsFloat(graph_->value(value).element)) {
    return value;
  }
  const ValueId stored = Quantized(tensor, value);
  graph_->nodes.back().sources =
      graph_->nodes[static_cast<size_t>(graph_->Producer(value))].sources;
  return stored;
}

ValueId GraphTensors::Quantized(int tensor, ValueId floats) {
  const TfLiteTensor& t = context_->tensors[tensor];
  const ValueId stored = AddInnerNode("quantize", {floats}, GridOf(t));
  graph_->value(stored).element = StoredElement(t);
  return stored;
}

Status GraphTensors::Output(int tensor, ValueId* value) {
  const TfLiteTensor& t = context_->tensors[tensor];
  Value made;
  if (IsQuantized(t)) {
    QUADRA_RETURN_IF_ERROR(CheckQuantized(t, "output", known_->allows_quantized));
  } else {
    QUADRA_RETURN_IF_ERROR(Typed(t, "output", kAllElements | kComplex, &made));
  }
  QUADRA_RETURN_IF_ERROR(CheckRuntime(tensor, "output"));
  // The shape comes from shape inference; the file's may be from before a resize.
  made.name = NameOf(t);
  made.rank = t.dims ? t.dims->size : 4;
  *value = AddValueOf(tensor, std::move(made));
  if (IsQuantized(t)) floats_of_tensor_[tensor] = *value;
  return Status();
}

Status GraphTensors::ConstantOutput(int tensor, ConstantData data) {
  Shape shape;
  int rank = 0;
  QUADRA_RETURN_IF_ERROR(Describe(tensor, &shape, &rank));
  if (shape.elements() != static_cast<int64_t>(data->size())) {
    return InvalidModel("its result has %zu values for shape %s", data->size(),
                        ToString(shape).c_str());
  }
  known_->constants.Put(tensor, data);
  const ValueId value = graph_->AddValue(NameOf(context_->tensors[tensor]), shape, rank);
  graph_->value(value).element = data->element();
  graph_->value(value).constant = std::move(data);
  value_of_tensor_[tensor] = value;
  return Status();
}

void GraphTensors::AddNode(const char* op, std::vector<ValueId>&& inputs, Attributes&& attributes,
                           ValueId output) {
  Node node;
  node.op = op;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.sources = {node_};
  node.outputs = {output};
  graph_->nodes.push_back(std::move(node));
}

ValueId GraphTensors::AddInnerNode(const char* op, std::vector<ValueId>&& inputs,
                                   Attributes&& attributes) {
  const ValueId output = graph_->AddValue(std::string(op) + Format("_%d", node_), Shape());
  AddNode(op, std::move(inputs), std::move(attributes), output);
  return output;
}

void GraphTensors::Hold(int tensor, const ConstantData& data) const {
  const ValueId value = ValueOf(tensor);
  if (value >= 0 && !graph_->IsConstant(value)) graph_->held.emplace_back(value, data);
}

}  // namespace quadra
