// FULLY_CONNECTED: weights [out, in]. The input is reshaped to rows of `in`; a row is a pixel of a
// 1x1 convolution, which is what this op becomes.
#include <utility>

#include "delegate_native/ops/computed_weights.h"
#include "delegate_native/ops/op.h"
#include "delegate_native/ops/window.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 3));
  const TfLiteFullyConnectedParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  if (params->weights_format != 0) {
    return Unsupported("its weights are shuffled (format %d); the plain format is supported",
                       params->weights_format);
  }
  if (importer->InputRank(1) != 2) {
    return Unsupported("its weights have rank %d; rank 2 is supported", importer->InputRank(1));
  }
  const TfLiteIntArray* weights = importer->InputTensor(1).dims;
  const int in = weights->data[1];
  const int rank = importer->InputRank(0);
  const bool keeps = params->keep_num_dims;
  std::vector<ValueId> inputs;
  // Convolutions have up to four axes, products of matrices more.
  const bool computed = HasComputedWeights(*importer) || (keeps && rank > 4);
  if (computed) {
    inputs.resize(1);
    QUADRA_RETURN_IF_ERROR(importer->Operand(0, &inputs[0]));
  } else {
    QUADRA_RETURN_IF_ERROR(importer->WeightedOperands(&inputs));
  }
  // Without keep_num_dims rows may cut across channels: [4, 6] are 2 rows of 12. Where the channels
  // are rows already, the reshape is an identity, which a pass removes.
  if (!keeps) {
    Attributes to_rows;
    to_rows.SetInts("shape", {-1, in});
    inputs[0] = importer->AddInnerNode("reshape", {inputs[0]}, std::move(to_rows));
  }
  if (computed) {
    Attributes attributes;
    attributes.SetInt("columns_of_b", 1);
    return AddComputed(importer, "batch_matmul", inputs[0], std::move(attributes),
                       params->activation);
  }
  // Weights [out, in] are OHWI weights of one pixel.
  inputs[1] = importer->ReshapeConstant(inputs[1], {weights->data[0], 1, 1, in});
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(SetWindow(kTfLitePaddingValid, 1, 1, 1, 1, &attributes));
  attributes.SetInt("rank", keeps ? rank : 2);
  return importer->AddNode("conv2d", std::move(inputs), std::move(attributes), params->activation);
}

}  // namespace

extern const Op kFullyConnectedOp;
const Op kFullyConnectedOp = {
    .name = "fully_connected",
    .builtins = {kTfLiteBuiltinFullyConnected, -1},
    .max_version = 14,
    .params_bytes = sizeof(TfLiteFullyConnectedParams),
    .import = Import,
};

}  // namespace quadra
