#include "delegate_native/tflite/constant_pool.h"

#include <algorithm>
#include <utility>

#include "delegate_native/tflite/quantization.h"
#include "delegate_native/tflite/tensor_info.h"

namespace quadra {
namespace {

// The scales of a constant, whose size is its type's and shape's. The interpreter has them as long
// as it has the tensor.
Status ReadScales(const TfLiteTensor& tensor, Scales* scales) {
  const TfLiteAffineQuantization& affine = *ScalesOf(tensor);
  const int count = affine.scale->size, axis = affine.quantized_dimension;
  const int zeros = affine.zero_point ? affine.zero_point->size : 0;
  if (zeros > 1 && zeros != count) {
    return InvalidModel("constant '%s' has %d scales and %d zero points", NameOf(tensor), count,
                        zeros);
  }
  if (zeros > 0) {
    scales->zero_points = std::make_shared<const Constant>(
        affine.zero_point->data, Element::kInt32, /*half=*/false, static_cast<size_t>(zeros));
  }
  if (count == 1) {
    scales->scales =
        std::make_shared<const Constant>(std::vector<float>{ShortScale(affine.scale->data[0])});
    return Status();
  }
  scales->scales = std::make_shared<const Constant>(affine.scale->data, Element::kFloat32,
                                                    /*half=*/false, static_cast<size_t>(count));
  if (axis < 0 || axis >= tensor.dims->size || tensor.dims->data[axis] != count) {
    return InvalidModel("constant '%s' has %d scales along axis %d", NameOf(tensor), count, axis);
  }
  for (int i = axis + 1; i < tensor.dims->size; ++i) {
    scales->stride *= static_cast<size_t>(tensor.dims->data[i]);
  }
  return Status();
}

// How many bits of a byte a number takes, where several share one; else 0.
int BitsOf(TfLiteType type) { return type == kTfLiteInt4 ? 4 : type == kTfLiteInt2 ? 2 : 0; }

}  // namespace

void ConstantPool::Put(int tensor, ConstantData data) { known_[tensor] = std::move(data); }

void ConstantPool::PutSize(int tensor, ConstantData data) {
  Put(tensor, std::move(data));
  sizes_.insert(tensor);
}

// A scale for each block of a row, in a tensor of their own.
Status ConstantPool::ReadBlocks(const TfLiteContext* context, const TfLiteTensor& tensor,
                                Scales* scales) {
  const auto* blocks = static_cast<const TfLiteBlockwiseQuantization*>(tensor.quantization.params);
  const int tensors = static_cast<int>(context->tensors_size);
  Status misfits = Unsupported(
      "constant '%s' has blocks without fitting scales, or with zero points", NameOf(tensor));
  if (!blocks || blocks->blocksize < 1 || blocks->scale < 0 || blocks->scale >= tensors ||
      blocks->zero_point >= tensors || tensor.dims->size != 2 ||
      tensor.dims->data[1] % blocks->blocksize != 0) {
    return misfits;
  }
  const TfLiteType type = context->tensors[blocks->scale].type;
  if (type != kTfLiteFloat16 && type != kTfLiteFloat32) return misfits;
  QUADRA_RETURN_IF_ERROR(Get(context, blocks->scale, /*wants_floats=*/true, &scales->scales));
  scales->stride = static_cast<size_t>(blocks->blocksize);
  if (scales->scales->size() * scales->stride != static_cast<size_t>(ElementCount(tensor.dims))) {
    return misfits;
  }
  if (blocks->zero_point < 0) return Status();
  // The interpreter takes all of them for 0.
  const TfLiteTensor& zeros = context->tensors[blocks->zero_point];
  const char* bytes = static_cast<const char*>(zeros.data);
  if (IsConstantTensor(zeros) &&
      std::count(bytes, bytes + zeros.bytes, 0) == static_cast<std::ptrdiff_t>(zeros.bytes)) {
    return Status();
  }
  return misfits;
}

Status ConstantPool::Get(const TfLiteContext* context, int tensor, bool wants_floats,
                         ConstantData* data) {
  const auto known = known_.find(tensor);
  const TfLiteTensor& t = context->tensors[tensor];
  // The file's integers may be wanted as floats another time; what a node made is what it is.
  if (known != known_.end() &&
      (!wants_floats || IsFloat(known->second->element()) || !IsConstantTensor(t))) {
    *data = known->second;
    return Status();
  }
  if (!IsConstantTensor(t)) {
    return Unsupported(
        "operand '%s' is computed while the model runs; it must be a constant of the model",
        NameOf(t));
  }
  if (t.sparsity) {
    return Unsupported("constant '%s' is sparse and no DENSIFY precedes it", NameOf(t));
  }
  const bool half = t.type == kTfLiteFloat16;
  const bool blocks = t.quantization.type == kTfLiteBlockwiseQuantization;
  const bool scaled = blocks || ScalesOf(t);
  const int narrow = scaled ? BitsOf(t.type) : 0;
  Element element = narrow ? Element::kInt8 : Element::kFloat32;
  if (!half && !narrow && !ElementOf(t.type, &element)) {
    return Unsupported("constant '%s' is %s, which the GPU has no numbers for", NameOf(t),
                       TypeName(t.type));
  }
  const bool is_int8 = int8_.count(tensor) != 0;
  if (is_int8) element = Element::kInt8;
  const int64_t count = ElementCount(t.dims);
  const size_t bits = narrow ? static_cast<size_t>(narrow) : half ? 16 : 8 * BytesOf(element);
  const size_t bytes = (static_cast<size_t>(count < 0 ? 0 : count) * bits + 7) / 8;
  if (count < 1 || t.bytes != bytes) {
    return InvalidModel("constant '%s' has %zu bytes, its shape asks for %zu", NameOf(t), t.bytes,
                        bytes);
  }
  const Elements scalable =
      kNarrowInts | (wants_floats ? kInts | Only(Element::kInt64) : Elements{0});
  if (scaled && (scalable & Only(element))) {
    Scales scales;
    QUADRA_RETURN_IF_ERROR(blocks ? ReadBlocks(context, t, &scales) : ReadScales(t, &scales));
    if (is_int8) scales.zero_points = nullptr;
    *data = std::make_shared<const Constant>(t.data, element, static_cast<int>(bits),
                                             std::move(scales), static_cast<size_t>(count));
    known_[tensor] = *data;
    return Status();
  }
  *data = std::make_shared<const Constant>(t.data, element, half, static_cast<size_t>(count));
  known_[tensor] = *data;
  return Status();
}

}  // namespace quadra
