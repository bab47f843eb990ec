#include "delegate_native/tflite/states.h"

#include <algorithm>

#include "delegate_native/tflite/quantization.h"
#include "delegate_native/tflite/tensor_info.h"

namespace quadra {
namespace {

// Whether the same bytes are the same numbers in both.
bool SameNumbers(const TfLiteTensor& a, const TfLiteTensor& b) {
  if (a.type != b.type || IsQuantized(a) != IsQuantized(b)) return false;
  return !IsQuantized(a) ||
         (a.params.scale == b.params.scale && a.params.zero_point == b.params.zero_point);
}

}  // namespace

Status States::Read(int tensor, bool quantized, ValueId* value) {
  const TfLiteTensor& t = tensors_->tensor(tensor);
  if (!IsQuantized(t)) return tensors_->Computed(tensor, Only(Element::kFloat32), value);
  if (quantized) return tensors_->Floats(tensor, value);
  return Unsupported("its state '%s' is quantized %s; float32 is supported", NameOf(t),
                     TypeName(t.type));
}

void States::Set(int tensor, ValueId value) {
  const bool is_float = tensors_->tensor(tensor).type == kTfLiteFloat32;
  values_[tensor] = is_float ? value : tensors_->Quantized(tensor, value);
}

ValueId States::OntoGrid(int tensor, ValueId floats) {
  const TfLiteTensor& t = tensors_->tensor(tensor);
  return t.type == kTfLiteFloat32 ? floats
                                  : tensors_->AddInnerNode("requantize", {floats}, GridOf(t));
}

Status States::FindVariable(int handle, int* variable) const {
  const auto& variables = tensors_->known()->variables;
  const auto known = variables.find(handle);
  if (known == variables.end()) {
    return Unsupported("its handle '%s' is of no VAR_HANDLE in this subgraph",
                       NameOf(tensors_->tensor(handle)));
  }
  *variable = known->second;
  return Status();
}

Status States::AddResource(int tensor, ValueId* value) {
  const TfLiteTensor& t = tensors_->tensor(tensor);
  Value made;
  if (IsQuantized(t)) {
    QUADRA_RETURN_IF_ERROR(CheckQuantized(t, "variable", tensors_->known()->allows_quantized));
    made.element = StoredElement(t);
  } else if (!ElementOf(t.type, &made.element)) {
    return Unsupported("the variable is %s", TypeName(t.type));
  }
  QUADRA_RETURN_IF_ERROR(tensors_->Describe(tensor, &made.shape, &made.rank));
  made.name = NameOf(t);
  *value = tensors_->graph()->AddValue(std::move(made));
  read_.emplace_back(tensor, *value);
  if (IsQuantized(t)) *value = tensors_->AddInnerNode("dequantize", {*value}, GridOf(t));
  return Status();
}

Status States::ReadResource(int handle, int tensor, ValueId* value) {
  int variable;
  QUADRA_RETURN_IF_ERROR(FindVariable(handle, &variable));
  if (!held_.count(variable)) {
    QUADRA_RETURN_IF_ERROR(AddResource(tensor, value));
    held_[variable] = *value;
    held_by_[variable] = tensor;
  }
  const TfLiteTensor &before = tensors_->tensor(held_by_[variable]),
                     &made = tensors_->tensor(tensor);
  if (!SameNumbers(before, made)) {
    return Unsupported("'%s' and '%s' are one variable's and differ in type or scale",
                       NameOf(before), NameOf(made));
  }
  *value = held_[variable];
  return Status();
}

Status States::AssignResource(int handle, int tensor, ValueId value) {
  int variable;
  QUADRA_RETURN_IF_ERROR(FindVariable(handle, &variable));
  if (tensors_->graph()->IsConstant(value)) return Unsupported("it assigns a constant");
  const int replaced = held_.count(variable) ? held_by_[variable] : -1;
  held_[variable] = value;
  held_by_[variable] = tensor;
  const bool is_left = std::none_of(held_by_.begin(), held_by_.end(),
                                    [replaced](const auto& one) { return one.second == replaced; });
  if (is_left) values_.erase(replaced);
  const ValueId stored = tensors_->ValueOf(tensor);
  // The numbers of a tensor from elsewhere are where it is.
  if (tensors_->graph()->Producer(stored) < 0) return Status();
  const TfLiteTensor& t = tensors_->tensor(tensor);
  if (IsQuantized(t)) {
    values_[tensor] = tensors_->Quantized(tensor, value);
    return Status();
  }
  const ValueId copy = tensors_->AddInnerNode("copy", {value}, {});
  if (!ElementOf(t.type, &tensors_->graph()->value(copy).element)) {
    return Unsupported("it assigns %s", TypeName(t.type));
  }
  values_[tensor] = copy;
  return Status();
}

}  // namespace quadra
