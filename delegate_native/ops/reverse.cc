// REVERSE_V2: some axes backwards.
#include "delegate_native/base/status.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/index_map.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements));
  std::vector<int> axes;
  QUADRA_RETURN_IF_ERROR(ReadAxes(*importer, 1, &axes));
  Attributes attributes;
  attributes.SetInts("axes", axes);
  return importer->AddNode("reverse", {src}, std::move(attributes));
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& shape = graph.shape(node.inputs[0]);
  IndexMap map;
  map.keeps_channels = true;
  for (int axis : node.attributes.Ints("axes")) {
    map.address += Along(axis, axis - kFirstAxis, "$at = last_$i - $at;\n");
    map.keeps_channels &= axis != 3;
  }
  KernelDesc& desc =
      AddIndexMap(context, "reverse", map, node.inputs[0], shape, node.outputs[0], shape, list);
  for (int axis : node.attributes.Ints("axes")) {
    desc.Int(Format("last_%d", axis - kFirstAxis), shape.axis(axis) - 1);
  }
  return Status();
}

}  // namespace

extern const Op kReverseOp;
const Op kReverseOp = {
    .name = "reverse",
    .builtins = {kTfLiteBuiltinReverseV2, -1},
    .max_version = 3,
    .attributes = QUADRA_TEXT("axes"),
    .import = Import,
    .shape = SameShape,
    .kernels = Kernels,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .moves = true,
};

}  // namespace quadra
