// ADD: a + b with numpy's broadcasting and a fused activation. ADD_N is another op.
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  const TfLiteAddParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId a, b;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &a));
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &b));
  return importer->AddNode("add", {a, b}, {}, params->activation);
}

Status Step(const Graph&, const FusedStep& step, StepWriter* writer) {
  // A step without operand is x + x.
  const std::string other = step.inputs.empty() ? "e_v" : writer->Read(step.inputs[0]);
  writer->Line("e_v = e_v + " + other + ";");
  return Status();
}

}  // namespace

extern const Op kAddOp;
const Op kAddOp = {
    .name = "add",
    .builtins = {kTfLiteBuiltinAdd, -1},
    .max_version = 5,
    .import = Import,
    .shape = BroadcastShape,
    .step = Step,
};

}  // namespace quadra
