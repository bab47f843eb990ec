#include "delegate_native/tflite/mixed_types.h"

#include "delegate_native/tflite/builtin_params.h"
#include "delegate_native/tflite/importer.h"
#include "delegate_native/tflite/quantization.h"
#include "delegate_native/tflite/tensor_info.h"

namespace quadra {
namespace {

bool StandsForFloats(const TfLiteTensor& tensor) {
  return tensor.type == kTfLiteFloat32 || tensor.type == kTfLiteFloat16 || IsQuantized(tensor);
}

// Ops that convert, or whose operands have types of their own.
bool Converts(int builtin) {
  switch (builtin) {
    case kTfLiteBuiltinCast:
    case kTfLiteBuiltinDequantize:
    case kTfLiteBuiltinQuantize:
    case kTfLiteBuiltinLstm:                // the state is int16
    case kTfLiteBuiltinStablehloComposite:  // each node of the decomposition is asked
      return true;
    default: return false;
  }
}

// The input that may be of int8 beside wider numbers.
bool IsWeights(int builtin, int input) {
  switch (builtin) {
    case kTfLiteBuiltinBatchMatmul:
    case kTfLiteBuiltinConv2d:
    case kTfLiteBuiltinDepthwiseConv2d:
    case kTfLiteBuiltinEmbeddingLookup:
    case kTfLiteBuiltinFullyConnected:
    case kTfLiteBuiltinTransposeConv: return input == 1;
    default: return false;
  }
}

// Weights beside numbers of another type.
Status CheckWeights(int builtin, const TfLiteTensor& weights, TfLiteType type) {
  const bool of_floats = type == kTfLiteFloat32;
  const bool wide = type == kTfLiteInt16 && builtin != kTfLiteBuiltinBatchMatmul;
  if (weights.type != kTfLiteInt8 || !(of_floats || wide)) {
    return Unsupported(
        "its weights '%s' are %s for %s, and computed while the model runs: TFLite's kernel takes "
        "no such",
        NameOf(weights), TypeName(weights.type), of_floats ? "floats" : TypeName(type));
  }
  if (wide) return Status();
  if (builtin == kTfLiteBuiltinDepthwiseConv2d) {
    return Unsupported(
        "its weights '%s' are int8 for floats, and computed while the model runs: TFLite's kernel "
        "reads a scale for each channel, computed tensors have one",
        NameOf(weights));
  }
  const TfLiteAffineQuantization* affine = ScalesOf(weights);
  if (!affine->zero_point || affine->zero_point->size < 1 || affine->zero_point->data[0] == 0) {
    return Status();
  }
  return Unsupported("its weights '%s' are int8 for floats with the zero point %d: TFLite takes 0",
                     NameOf(weights), affine->zero_point->data[0]);
}

}  // namespace

Status CheckMixedTypes(const Importer& importer) {
  const int builtin = importer.builtin();
  if (Converts(builtin)) return Status();
  const TfLiteTensor* first = nullptr;    // that is no weights
  const TfLiteTensor* weights = nullptr;  // where they are computed
  for (int i = 0; i < importer.num_inputs(); ++i) {
    if (!importer.HasInput(i) || importer.IsConstant(i)) continue;
    const TfLiteTensor& tensor = importer.InputTensor(i);
    if (tensor.is_variable || !StandsForFloats(tensor)) continue;
    if (IsWeights(builtin, i)) {
      weights = &tensor;
      continue;
    }
    if (!first) first = &tensor;
    if (tensor.type == first->type) continue;
    return Unsupported("its inputs '%s' and '%s' are %s and %s; TFLite's kernel takes one type",
                       NameOf(*first), NameOf(tensor), TypeName(first->type),
                       TypeName(tensor.type));
  }
  if (importer.num_outputs() < 1) return Status();
  const TfLiteTensor& result = importer.OutputTensor(0);
  const bool is_custom = builtin == kTfLiteBuiltinCustom;
  if (!is_custom && first && StandsForFloats(result) && result.type != first->type &&
      !(IsQuantized(result) && IsQuantized(*first))) {
    return Unsupported("its input '%s' is %s, its result %s: TFLite's kernel converts nothing",
                       NameOf(*first), TypeName(first->type), TypeName(result.type));
  }
  const TfLiteType type = first ? first->type : result.type;
  return !weights || weights->type == type ? Status() : CheckWeights(builtin, *weights, type);
}

}  // namespace quadra
