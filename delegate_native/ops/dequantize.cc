// DEQUANTIZE: here only of float16 constants, which is how float16 weights are stored. They are
// read once, when the model is loaded; nothing runs on the GPU.
#include <utility>

#include "delegate_native/ops/op.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  const TfLiteType type = importer->InputTensor(0).type;
  if (type != kTfLiteFloat16) {
    return Unsupported(
        "it makes floats of %s; only float16 constants are supported: convert the "
        "model with float32 or float16 weights",
        TypeName(type));
  }
  ConstantData data;
  QUADRA_RETURN_IF_ERROR(
      importer->constants()->Get(importer->context(), importer->InputIndex(0), &data));
  return importer->AddConstantOutput(std::move(data));
}

}  // namespace

extern const Op kDequantizeOp;
const Op kDequantizeOp = {
    .name = "dequantize",
    .builtins = {kTfLiteBuiltinDequantize, -1},
    .max_version = 6,
    .import = Import,
};

}  // namespace quadra
