// HARD_SWISH: x * clamp(x + 3, 0, 6) / 6.
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) { return ImportUnary("hard_swish", importer); }

Status Step(const Graph&, const FusedStep&, StepWriter* writer) {
  writer->Line(
      "{ sum4_t six = min(max(e_v + vec4(3.0f), vec4(0.0f)), vec4(6.0f)); e_v = e_v * six * vec4(0.16666667f); }");
  return Status();
}

}  // namespace

extern const Op kHardSwishOp;
const Op kHardSwishOp = {
    .name = "hard_swish",
    .builtins = {kTfLiteBuiltinHardSwish, -1},
    .max_version = 1,
    .import = Import,
    .shape = BroadcastShape,
    .step = Step,
};

}  // namespace quadra
