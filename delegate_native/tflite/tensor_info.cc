#include "delegate_native/tflite/tensor_info.h"

namespace quadra {

const char* TypeName(TfLiteType type) {
  static const char* const kNames[] = {
      "no type",  "float32",   "int32",  "uint8",   "int64",   "string",     "bool",
      "int16",    "complex64", "int8",   "float16", "float64", "complex128", "uint64",
      "resource", "variant",   "uint32", "uint16",  "int4",    "bfloat16",   "int2"};
  const unsigned index = static_cast<unsigned>(type);
  return index < sizeof(kNames) / sizeof(kNames[0]) ? kNames[index] : "an unknown type";
}

bool ElementOf(TfLiteType type, Element* element) {
  switch (type) {
    case kTfLiteFloat32: *element = Element::kFloat32; return true;
    case kTfLiteInt32: *element = Element::kInt32; return true;
    case kTfLiteBool: *element = Element::kBool; return true;
    case kTfLiteInt8: *element = Element::kInt8; return true;
    case kTfLiteUInt8: *element = Element::kUInt8; return true;
    case kTfLiteInt64: *element = Element::kInt64; return true;
    case kTfLiteInt16: *element = Element::kInt16; return true;
    case kTfLiteFloat16: *element = Element::kFloat16; return true;
    default: return false;
  }
}

bool ComputedElementOf(TfLiteType type, Element* element) {
  if (type != kTfLiteComplex64) return ElementOf(type, element);
  *element = Element::kComplex64;
  return true;
}

std::string NamesOf(Elements elements) {
  if (elements == kComplex) return NameOf(Element::kComplex64);
  std::string names;
  for (int i = static_cast<int>(Element::kInt16); i >= 0; --i) {
    const Element element = static_cast<Element>(i);
    if (!(elements & Only(element)) || element == Element::kFloat16) continue;
    const int before = elements & (Only(element) - 1);
    names.insert(0, std::string(before == 0     ? ""
                                : names.empty() ? " or "
                                                : ", ") +
                        NameOf(element));
  }
  return names;
}

const char* NameOf(const TfLiteTensor& tensor) { return tensor.name ? tensor.name : "(unnamed)"; }

bool IsConstantTensor(const TfLiteTensor& tensor) {
  return (tensor.allocation_type == kTfLiteMmapRo ||
          tensor.allocation_type == kTfLitePersistentRo) &&
         tensor.data != nullptr;
}

int64_t ElementCount(const TfLiteIntArray* dims) {
  int64_t count = 1;
  for (int i = 0; i < dims->size; ++i) {
    count *= dims->data[i];
    if (dims->data[i] < 0 || count > int64_t{1} << 32) return -1;
  }
  return count;
}

}  // namespace quadra
