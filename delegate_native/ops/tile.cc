// TILE: a tensor several times along each axis. BROADCAST_TO: as often as makes a shape.
#include "delegate_native/base/status.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/folding.h"
#include "delegate_native/ops/index_map.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements));
  Attributes attributes;
  const bool tiles = importer->builtin() == kTfLiteBuiltinTile;
  QUADRA_RETURN_IF_ERROR(importer->Sizes(1, tiles ? "counts" : "shape", &attributes));
  return importer->AddNode("tile", {src}, std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  const bool tiles = node.attributes.Has("counts");
  const std::vector<int>& given = node.attributes.Ints(tiles ? "counts" : "shape");
  out.rank = static_cast<int>(given.size());
  if (tiles && out.rank != in.rank) {
    return InvalidModel("it tiles %d axes of rank %d", out.rank, in.rank);
  }
  QUADRA_RETURN_IF_ERROR(CheckRank(static_cast<size_t>(out.rank)));
  out.shape = Shape();
  for (int i = 0; i < out.rank; ++i) {
    const int axis = 4 - out.rank + i, n = in.shape.axis(axis);
    const int64_t length =
        tiles ? int64_t{n} * given[static_cast<size_t>(i)] : given[static_cast<size_t>(i)];
    if (length < 1 || length > INT32_MAX) {
      return Unsupported("its result has %lld elements along one axis",
                         static_cast<long long>(length));
    }
    if (!tiles && n != 1 && n != length) {
      return InvalidModel("an axis of %d cannot be broadcast to %lld", n,
                          static_cast<long long>(length));
    }
    out.shape.set_axis(axis, static_cast<int>(length));
  }
  if (in.rank > out.rank) return InvalidModel("it makes rank %d of rank %d", out.rank, in.rank);
  return Status();
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  IndexMap map;
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    if (in.axis(axis) == out.axis(axis)) continue;
    map.address += Along(axis, axis - kFirstAxis, "$at = $at % length_$i;\n");
  }
  map.keeps_channels = in.c == out.c;
  KernelDesc& desc =
      AddIndexMap(context, "tile", map, node.inputs[0], in, node.outputs[0], out, list);
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    if (in.axis(axis) == out.axis(axis)) continue;
    desc.Int(Format("length_%d", axis - kFirstAxis), in.axis(axis));
  }
  return Status();
}

// Folds what is repeated number by number, not by several at a time.
ConstantData Fold(const Graph& graph, const Node& node) {
  const Value& in = graph.value(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    if (in.shape.axis(axis) != 1 && in.shape.axis(axis) != out.axis(axis)) return nullptr;
  }
  return IsSmallConstant(graph, node) ? Picked(*in.constant, PlacesOf(out, StepsOf(in.shape)))
                                      : nullptr;
}

}  // namespace

extern const Op kTileOp;
const Op kTileOp = {
    .name = "tile",
    .builtins = {kTfLiteBuiltinTile, kTfLiteBuiltinBroadcastTo, -1},
    .max_version = 3,
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .fold = Fold,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .copies = AlwaysCopies,
    .moves = true,
    .size_input = 1,
};

}  // namespace quadra
