// EXPAND_DIMS, SQUEEZE: axes of length 1, put in or taken out. PACK: an axis put into several
// tensors, which are then concatenated along it.
#include <algorithm>

#include "delegate_native/base/texts.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/reshape.h"

namespace quadra {
namespace {

// The parts of complex numbers lie along the last axis.
Status CheckKeepsLast(const Importer& importer, ValueId src, bool keeps_last) {
  if (keeps_last || importer.graph()->value(src).element != Element::kComplex64) return Status();
  return Unsupported("the last axis of complex64 is another one in its result");
}

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements | kComplex));
  int axis;
  QUADRA_RETURN_IF_ERROR(ReadAxis(*importer, 1, importer->InputRank(0) + 1, &axis));
  QUADRA_RETURN_IF_ERROR(CheckKeepsLast(*importer, src, axis < 3));
  Attributes attributes;
  attributes.SetInt("axis", axis);
  return importer->AddNode("expand_dims", {src}, std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  out.rank = in.rank + 1;
  QUADRA_RETURN_IF_ERROR(CheckRank(static_cast<size_t>(out.rank)));
  const int axis = node.attributes.Int("axis");
  out.shape = Shape();
  for (int a = kFirstAxis + 1; a < 4; ++a) {
    if (a <= axis) out.shape.set_axis(a - 1, in.shape.axis(a));
    else out.shape.set_axis(a, in.shape.axis(a));
  }
  return Status();
}

Status ImportSqueeze(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  const TfLiteSqueezeParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements | kComplex));
  const int count = params->num_squeeze_dims;
  if (count < 0 || count > 8) return InvalidModel("it squeezes %d axes", count);
  std::vector<int> axes(static_cast<size_t>(count));
  for (size_t i = 0; i < axes.size(); ++i) {
    QUADRA_RETURN_IF_ERROR(ToAxis(params->squeeze_dims[i], importer->InputRank(0), &axes[i]));
  }
  const bool keeps_last = count > 0 && std::find(axes.begin(), axes.end(), 3) == axes.end();
  QUADRA_RETURN_IF_ERROR(CheckKeepsLast(*importer, src, keeps_last));
  Attributes attributes;
  attributes.SetInts("axes", axes);
  return importer->AddNode("squeeze", {src}, std::move(attributes));
}

// No axes: all of length 1.
Status InferSqueezed(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  std::vector<int> axes = node.attributes.Ints("axes");
  for (int axis : axes) {
    if (in.shape.axis(axis) != 1) {
      return InvalidModel("it squeezes an axis of %d", in.shape.axis(axis));
    }
  }
  for (int axis = 4 - in.rank; axis < 4 && node.attributes.Ints("axes").empty(); ++axis) {
    if (in.shape.axis(axis) == 1) axes.push_back(axis);
  }
  DropAxes(in, axes, /*keep=*/false, &graph->value(node.outputs[0]));
  return Status();
}

Status ImportPack(Importer* importer) {
  const TfLitePackParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1 << 20));
  if (params->values_count != importer->num_inputs()) {
    return InvalidModel("it packs %d tensors and has %d inputs", params->values_count,
                        importer->num_inputs());
  }
  int axis;
  QUADRA_RETURN_IF_ERROR(ToAxis(params->axis, importer->InputRank(0) + 1, &axis));
  std::vector<ValueId> values(static_cast<size_t>(importer->num_inputs()));
  for (size_t i = 0; i < values.size(); ++i) {
    QUADRA_RETURN_IF_ERROR(importer->Operand(static_cast<int>(i), &values[i], kAllElements));
  }
  QUADRA_RETURN_IF_ERROR(importer->CheckAlike(values));
  Attributes along;
  along.SetInt("axis", axis);
  if (values.size() == 1)
    return importer->AddNode("expand_dims", std::move(values), std::move(along));
  for (ValueId& value : values)
    value = importer->AddInnerNode("expand_dims", {value}, Attributes(along));
  return importer->AddNode("concat", std::move(values), std::move(along));
}

}  // namespace

extern const Op kExpandDimsOp;
const Op kExpandDimsOp = {
    .name = "expand_dims",
    .builtins = {kTfLiteBuiltinExpandDims, -1},
    .max_version = 1,
    .attributes = QUADRA_TEXT("axis"),
    .import = Import,
    .shape = InferShape,
    .kernels = ReshapeKernels,
    .fold = SameNumbers,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .copies = AlwaysCopies,
    .part = AllOfIt,
    .moves = true,
    .size_input = 1,
};

extern const Op kSqueezeOp;
const Op kSqueezeOp = {
    .name = "squeeze",
    .builtins = {kTfLiteBuiltinSqueeze, -1},
    .max_version = 2,
    .params_bytes = sizeof(TfLiteSqueezeParams),
    .attributes = QUADRA_TEXT("axes"),
    .import = ImportSqueeze,
    .shape = InferSqueezed,
    .kernels = ReshapeKernels,
    .fold = SameNumbers,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .copies = AlwaysCopies,
    .part = AllOfIt,
    .moves = true,
};

extern const Op kPackOp;
const Op kPackOp = {
    .name = "pack",
    .builtins = {kTfLiteBuiltinPack, -1},
    .max_version = 4,
    .params_bytes = sizeof(TfLitePackParams),
    .import = ImportPack,
    .moves = true,
};

}  // namespace quadra
