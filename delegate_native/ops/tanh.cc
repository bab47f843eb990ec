// TANH. Beyond 10 the result is 1 in float32, and some drivers overflow there.
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) { return ImportUnary("tanh", importer); }

Status Step(const Graph&, const FusedStep&, StepWriter* writer) {
  writer->Line("e_v = tanh(below(above(e_v, vec4(-10.0f)), vec4(10.0f)));");
  return Status();
}

}  // namespace

extern const Op kTanhOp;
const Op kTanhOp = {
    .name = "tanh",
    .builtins = {kTfLiteBuiltinTanh, -1},
    .max_version = 3,
    .import = Import,
    .shape = BroadcastShape,
    .step = Step,
};

}  // namespace quadra
