// TRANSPOSE: axes in another order, by a constant permutation.
#include "delegate_native/base/status.h"
#include "delegate_native/ops/folding.h"
#include "delegate_native/ops/index_map.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements));
  std::vector<int> order;
  QUADRA_RETURN_IF_ERROR(importer->ConstantInts(1, &order));
  const int rank = importer->InputRank(0);
  if (static_cast<int>(order.size()) != rank) {
    return InvalidModel("it orders %zu axes of rank %d", order.size(), rank);
  }
  unsigned seen = 0;
  for (int& axis : order) {
    if (axis < -rank || axis >= rank) {
      return InvalidModel("axis %d is out of range for rank %d", axis, rank);
    }
    if (axis < 0) axis += rank;
    seen |= 1u << axis;
  }
  if (seen + 1 != 1u << rank) return InvalidModel("its order names an axis twice");
  Attributes attributes;
  attributes.SetInts("order", order);
  return importer->AddNode("transpose", {src}, std::move(attributes));
}

// The source's axis that becomes `axis`.
int SourceOf(const Node& node, int axis) {
  const std::vector<int>& order = node.attributes.Ints("order");
  const int first = 4 - static_cast<int>(order.size());
  return axis < first ? axis : order[static_cast<size_t>(axis - first)] + first;
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  if (in.rank != static_cast<int>(node.attributes.Ints("order").size())) {
    return InvalidModel("it orders %zu axes of rank %d", node.attributes.Ints("order").size(),
                        in.rank);
  }
  out.shape = Shape();
  out.rank = in.rank;
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    out.shape.set_axis(axis, in.shape.axis(SourceOf(node, axis)));
  }
  return Status();
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  IndexMap map;
  std::string moves;
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    const int source = SourceOf(node, axis);
    if (source == axis) continue;
    map.address += Along(axis, axis - kFirstAxis, "int was_$i = $at;\n");
    moves += Along(source, axis - kFirstAxis, "$at = was_$i;\n");
  }
  map.address += moves;
  map.keeps_channels = SourceOf(node, 3) == 3;
  AddIndexMap(context, "transpose", map, node.inputs[0], graph.shape(node.inputs[0]),
              node.outputs[0], graph.shape(node.outputs[0]), list);
  return Status();
}

ConstantData Fold(const Graph& graph, const Node& node) {
  const Value& in = graph.value(node.inputs[0]);
  const Steps steps = StepsOf(in.shape);
  Steps moved;
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    moved.of[axis - kFirstAxis] = steps.of[SourceOf(node, axis) - kFirstAxis];
  }
  return IsSmallConstant(graph, node)
             ? Picked(*in.constant, PlacesOf(graph.shape(node.outputs[0]), moved))
             : nullptr;
}

bool KeepsOrder(const Node& node) {
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    if (SourceOf(node, axis) != axis) return false;
  }
  return true;
}

}  // namespace

extern const Op kTransposeOp;
const Op kTransposeOp = {
    .name = "transpose",
    .builtins = {kTfLiteBuiltinTranspose, -1},
    .max_version = 9,
    .attributes = QUADRA_TEXT("order"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .fold = Fold,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .copies = KeepsOrder,
    .moves = true,
};

}  // namespace quadra
