// MIRROR_PAD: what lies at the border, mirrored around it; REFLECT leaves the border itself out.
#include <algorithm>

#include "delegate_native/base/status.h"
#include "delegate_native/graph/window.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/index_map.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  const TfLiteMirrorPaddingParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  if (params->mode != kTfLiteMirrorPaddingReflect && params->mode != kTfLiteMirrorPaddingSymmetric)
    return InvalidModel("it has mode %d", params->mode);
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(importer->Sizes(1, "amounts", &attributes));
  attributes.SetInt("edge", params->mode == kTfLiteMirrorPaddingReflect ? 1 : 0);
  return importer->AddNode("mirror_pad", {src}, std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  const size_t amounts = node.attributes.Ints("amounts").size();
  if (amounts != 2 * static_cast<size_t>(in.rank)) {
    return InvalidModel("it has %zu padding amounts for rank %d", amounts, in.rank);
  }
  out.shape = in.shape;
  out.rank = in.rank;
  for (int axis = 4 - in.rank; axis < 4; ++axis) {
    const Padding padding = PaddingOf(node.attributes, axis);
    const int n = in.shape.axis(axis), most = n - node.attributes.Int("edge");
    if (std::min(padding.before, padding.after) < 0 ||
        std::max(padding.before, padding.after) > most) {
      return InvalidModel("it mirrors %d and %d elements of an axis of %d", padding.before,
                          padding.after, n);
    }
    const int64_t length = int64_t{n} + padding.before + padding.after;
    if (length > INT32_MAX) {
      return Unsupported("its result has %lld elements along one axis",
                         static_cast<long long>(length));
    }
    out.shape.set_axis(axis, static_cast<int>(length));
  }
  return Status();
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& in = graph.value(node.inputs[0]);
  const int edge = node.attributes.Int("edge");
  const Shape& out = graph.shape(node.outputs[0]);
  IndexMap map;
  map.keeps_channels = in.shape.c == out.c;
  for (int axis = 4 - in.rank; axis < 4; ++axis) {
    if (in.shape.axis(axis) == out.axis(axis)) continue;
    map.address += Along(axis, axis - kFirstAxis, QUADRA_TEXT(R"($at -= before_$i;
if ($at < 0) { $at = first_$i - $at; }
if ($at >= length_$i) { $at = last_$i - $at; }
)"));
  }
  KernelDesc& desc =
      AddIndexMap(context, "mirror_pad", map, node.inputs[0], in.shape, node.outputs[0], out, list);
  for (int axis = 4 - in.rank; axis < 4; ++axis) {
    const int n = in.shape.axis(axis), i = axis - kFirstAxis;
    if (n == out.axis(axis)) continue;
    desc.Int(Format("before_%d", i), PaddingOf(node.attributes, axis).before);
    desc.Int(Format("first_%d", i), edge - 1);
    desc.Int(Format("length_%d", i), n);
    desc.Int(Format("last_%d", i), 2 * n - 1 - edge);
  }
  return Status();
}

}  // namespace

extern const Op kMirrorPadOp;
const Op kMirrorPadOp = {
    .name = "mirror_pad",
    .builtins = {kTfLiteBuiltinMirrorPad, -1},
    .max_version = 3,
    .params_bytes = sizeof(TfLiteMirrorPaddingParams),
    .attributes = QUADRA_TEXT("amounts edge"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .moves = true,
    .size_input = 1,
};

}  // namespace quadra
