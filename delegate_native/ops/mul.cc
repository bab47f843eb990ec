// MUL: a * b with numpy's broadcasting and a fused activation.
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  const TfLiteMulParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId a, b;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &a));
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &b));
  return importer->AddNode("mul", {a, b}, {}, params->activation);
}

Status Step(const Graph&, const FusedStep& step, StepWriter* writer) {
  // A step without operand is x * x.
  const std::string other = step.inputs.empty() ? "e_v" : writer->Read(step.inputs[0]);
  writer->Line("e_v = e_v * " + other + ";");
  return Status();
}

}  // namespace

extern const Op kMulOp;
const Op kMulOp = {
    .name = "mul",
    .builtins = {kTfLiteBuiltinMul, -1},
    .max_version = 8,
    .import = Import,
    .shape = BroadcastShape,
    .step = Step,
};

}  // namespace quadra
