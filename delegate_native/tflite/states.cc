#include "delegate_native/tflite/states.h"

#include "delegate_native/tflite/quantization.h"
#include "delegate_native/tflite/tensor_info.h"

namespace quadra {

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

}  // namespace quadra
