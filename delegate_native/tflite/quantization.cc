#include "delegate_native/tflite/quantization.h"

#include <cstring>

#include "delegate_native/tflite/tensor_info.h"

namespace quadra {

const TfLiteAffineQuantization* ScalesOf(const TfLiteTensor& tensor) {
  const auto* affine = static_cast<const TfLiteAffineQuantization*>(tensor.quantization.params);
  if (tensor.quantization.type != kTfLiteAffineQuantization || !affine || !affine->scale)
    return nullptr;
  return affine->scale->size > 0 && affine->scale->data[0] != 0 ? affine : nullptr;
}

bool IsQuantized(const TfLiteTensor& tensor) {
  const TfLiteType type = tensor.type;
  return (type == kTfLiteInt8 || type == kTfLiteUInt8 || type == kTfLiteInt16) && ScalesOf(tensor);
}

Status CheckQuantized(const TfLiteTensor& tensor, const char* what, bool is_allowed) {
  if (!is_allowed) {
    return Unsupported("%s '%s' is quantized %s, and the option quantized_models_allowed is 0",
                       what, NameOf(tensor), TypeName(tensor.type));
  }
  const TfLiteAffineQuantization& affine = *ScalesOf(tensor);
  const float scale = affine.scale->data[0];
  if (affine.scale->size != 1 || !affine.zero_point || affine.zero_point->size != 1) {
    return Unsupported("%s '%s' has %d scales; computed tensors need one", what, NameOf(tensor),
                       affine.scale->size);
  }
  if (!(scale > 1e-30f) || !(scale < 1e30f)) {
    return InvalidModel("%s '%s' has the scale %g", what, NameOf(tensor),
                        static_cast<double>(scale));
  }
  return Status();
}

float ShortScale(float scale) {
  uint32_t bits;
  memcpy(&bits, &scale, sizeof(bits));
  bits = (bits + 2) & ~3u;
  memcpy(&scale, &bits, sizeof(bits));
  return scale;
}

Attributes GridOf(const TfLiteTensor& tensor) {
  const TfLiteAffineQuantization& affine = *ScalesOf(tensor);
  const float scale = ShortScale(affine.scale->data[0]);
  const float zero = static_cast<float>(affine.zero_point->data[0]);
  const float numbers = tensor.type == kTfLiteInt16 ? 65536.0f : 256.0f;
  const float least = tensor.type == kTfLiteUInt8 ? 0.0f : -numbers / 2;
  Attributes attributes;
  attributes.SetFloat("scale", scale);
  attributes.SetFloat("inverse", 1.0f / scale);
  attributes.SetFloat("zero", zero);
  attributes.SetFloat("low", least - zero);
  attributes.SetFloat("high", least + numbers - 1.0f - zero);
  // Half is not enough for them. A state has what its node computes, in the plan's precision.
  if (tensor.type == kTfLiteInt16 && !tensor.is_variable) attributes.SetInt("wide", 1);
  return attributes;
}

Element StoredElement(const TfLiteTensor& tensor) {
  Element element = Element::kInt8;
  ElementOf(tensor.type, &element);
  return element;
}

}  // namespace quadra
