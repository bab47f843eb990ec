// MATRIX_DIAG: the last axis becomes the diagonal of square matrices; all else in them is 0.
#include "delegate_native/base/status.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/index_map.h"
#include "delegate_native/tflite/importer.h"
#include "delegate_native/tflite/quantization.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  if (IsQuantized(importer->InputTensor(0))) {
    return Unsupported(
        "its input is quantized, and off the diagonal the CPU has the integer 0, whatever the "
        "zero point is");
  }
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements));
  return importer->AddNode("matrix_diag", {src}, Attributes());
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  out.rank = in.rank + 1;
  QUADRA_RETURN_IF_ERROR(CheckRank(static_cast<size_t>(out.rank)));
  out.shape = Shape();
  for (int axis = kFirstAxis; axis < 3; ++axis) {
    out.shape.set_axis(axis, in.shape.axis(axis + 1));
  }
  out.shape.set_axis(3, in.shape.c);
  return Status();
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  IndexMap map;
  map.address = QUADRA_TEXT(R"(
inside = at_x == at_c;
at_x = at_y;
at_y = at_b;
at_b = at_q;
at_q = at_p;
at_p = 0;
)");
  map.fill = "0";
  AddIndexMap(context, "matrix_diag", map, node.inputs[0], graph.shape(node.inputs[0]),
              node.outputs[0], graph.shape(node.outputs[0]), list);
  return Status();
}

}  // namespace

extern const Op kMatrixDiagOp;
const Op kMatrixDiagOp = {
    .name = "matrix_diag",
    .builtins = {kTfLiteBuiltinMatrixDiag, -1},
    .attributes = "",
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .moves = true,
};

}  // namespace quadra
