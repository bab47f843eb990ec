// LOGISTIC: 1 / (1 + exp(-x)). exp of a large number is inf and its inverse 0, which is right.
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) { return ImportUnary("logistic", importer); }

Status Step(const Graph&, const FusedStep&, StepWriter* writer) {
  writer->Line("e_v = vec4(1.0f) / (vec4(1.0f) + exp(-e_v));");
  return Status();
}

}  // namespace

extern const Op kLogisticOp;
const Op kLogisticOp = {
    .name = "logistic",
    .builtins = {kTfLiteBuiltinLogistic, -1},
    .max_version = 3,
    .import = Import,
    .shape = BroadcastShape,
    .step = Step,
};

}  // namespace quadra
