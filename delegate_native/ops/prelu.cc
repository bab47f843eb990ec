// PRELU: x where x >= 0, alpha * x elsewhere; alpha is broadcast to x as numpy does.
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  ValueId x, alpha;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &x));
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &alpha));
  return importer->AddNode("prelu", {x, alpha}, {});
}

Status Step(const Graph&, const FusedStep& step, StepWriter* writer) {
  const std::string alpha = step.inputs.empty() ? "e_v" : writer->Read(step.inputs[0]);
  writer->Line("e_v = above(e_v, vec4(0.0f)) + " + alpha + " * below(e_v, vec4(0.0f));");
  return Status();
}

}  // namespace

extern const Op kPreluOp;
const Op kPreluOp = {
    .name = "prelu",
    .builtins = {kTfLiteBuiltinPrelu, -1},
    .max_version = 1,
    .import = Import,
    .shape = BroadcastShape,
    .step = Step,
    .steps_on_first = true,
};

}  // namespace quadra
