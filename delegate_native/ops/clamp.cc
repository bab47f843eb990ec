// RELU, RELU6, RELU_N1_TO_1: min(max(x, low), high). The limits are arguments of the kernel, so
// all three share one program.
#include <cmath>
#include <limits>

#include "delegate_native/ops/elementwise.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  const int code = importer->builtin();
  Attributes attributes;
  attributes.SetFloat("low", code == kTfLiteBuiltinReluN1To1 ? -1.0f : 0.0f);
  attributes.SetFloat("high", code == kTfLiteBuiltinRelu    ? std::numeric_limits<float>::infinity()
                              : code == kTfLiteBuiltinRelu6 ? 6.0f
                                                            : 1.0f);
  ValueId x;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &x));
  return importer->AddNode("clamp", {x}, std::move(attributes));
}

Status Step(const Graph&, const FusedStep& step, StepWriter* writer) {
  const std::string low = writer->Float(step.attributes.Float("low"));
  const std::string high = writer->Float(step.attributes.Float("high"));
  writer->Line("e_v = below(above(e_v, vec4(" + low + ")), vec4(" + high + "));");
  return Status();
}

bool HasNoLimits(const Node& node) {
  const float low = node.attributes.Float("low"), high = node.attributes.Float("high");
  return std::isinf(low) && low < 0 && std::isinf(high) && high > 0;
}

}  // namespace

extern const Op kClampOp;
const Op kClampOp = {
    .name = "clamp",
    .builtins = {kTfLiteBuiltinRelu, kTfLiteBuiltinRelu6, kTfLiteBuiltinReluN1To1, -1},
    .max_version = 3,
    .attributes = "low high",
    .import = Import,
    .shape = BroadcastShape,
    .step = Step,
    .copies = HasNoLimits,
};

}  // namespace quadra
