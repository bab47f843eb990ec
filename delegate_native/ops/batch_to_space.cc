// BATCH_TO_SPACE_ND, SPACE_TO_BATCH_ND: blocks of one or two spatial axes become batches, and back;
// zeros are put around before, or a border is cropped after. Rank 3 has one spatial axis, rank 4
// two.
#include "delegate_native/base/status.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/index_map.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 3));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(importer->Sizes(1, "block", &attributes));
  QUADRA_RETURN_IF_ERROR(importer->Sizes(2, "border", &attributes));
  const bool to_space = importer->builtin() == kTfLiteBuiltinBatchToSpaceNd;
  return importer->AddNode(to_space ? "batch_to_space" : "space_to_batch", {src},
                           std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  const bool to_space = node.op == "batch_to_space";
  const std::vector<int>& block = node.attributes.Ints("block");
  const std::vector<int>& border = node.attributes.Ints("border");
  const size_t axes = static_cast<size_t>(in.rank - 2);
  if ((in.rank != 3 && in.rank != 4) || block.size() != axes || border.size() != 2 * axes) {
    return InvalidModel("it has %zu block sizes and %zu borders for rank %d", block.size(),
                        border.size(), in.rank);
  }
  for (int n : block) {
    if (n < 1) return InvalidModel("a block has size %d", n);
  }
  for (int n : border) {
    if (n < 0) return InvalidModel("a border has size %d", n);
  }
  const int batch_axis = 4 - in.rank;
  Shape shape = in.shape;
  int64_t batches = in.shape.axis(batch_axis);
  for (size_t i = 0; i < block.size(); ++i) {
    const int axis = batch_axis + 1 + static_cast<int>(i), n = in.shape.axis(axis);
    const int64_t around = int64_t{border[2 * i]} + border[2 * i + 1];
    int64_t length;
    if (to_space) {
      if (batches % block[i] != 0) {
        return InvalidModel("%lld batches are no blocks of %d", static_cast<long long>(batches),
                            block[i]);
      }
      batches /= block[i];
      length = int64_t{n} * block[i] - around;
    } else {
      const int64_t padded = n + around;
      if (padded % block[i] != 0) {
        return InvalidModel("an axis of %lld is no blocks of %d", static_cast<long long>(padded),
                            block[i]);
      }
      batches *= block[i];
      length = padded / block[i];
    }
    if (length < 1 || length > INT32_MAX || batches > INT32_MAX) {
      return Unsupported("its result has %lld elements along one axis",
                         static_cast<long long>(length));
    }
    shape.set_axis(axis, static_cast<int>(length));
  }
  shape.set_axis(batch_axis, static_cast<int>(batches));
  graph->value(node.outputs[0]).shape = shape;
  graph->value(node.outputs[0]).rank = in.rank;
  return Status();
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& in = graph.value(node.inputs[0]);
  const bool to_space = node.op == "batch_to_space";
  const std::vector<int>& block = node.attributes.Ints("block");
  const std::vector<int>& border = node.attributes.Ints("border");
  const int batch_axis = 4 - in.rank, axes = static_cast<int>(block.size());
  IndexMap map;
  map.keeps_channels = true;
  if (to_space) {
    map.address = "int in_block = 0;\n";
    for (int i = 0; i < axes; ++i) {
      map.address += Along(batch_axis + 1 + i, i, QUADRA_TEXT(R"($at += border_$i;
in_block = in_block * block_$i + $at % block_$i;
$at /= block_$i;
)"));
    }
    map.address += Along(batch_axis, 0, "$at += in_block * batches;\n");
  } else {
    map.fill = "0";
    map.address = Along(batch_axis, 0,
                        QUADRA_TEXT("int in_block = $at / batches;\n$at -= in_block * batches;\n"));
    for (int i = axes - 1; i >= 0; --i) {
      map.address += Along(batch_axis + 1 + i, i,
                           QUADRA_TEXT(R"($at = $at * block_$i + in_block % block_$i - border_$i;
in_block /= block_$i;
inside = inside && $at >= 0 && $at < length_$i;
)"));
    }
  }
  const Shape& out = graph.shape(node.outputs[0]);
  KernelDesc& desc = AddIndexMap(context, node.op.c_str(), map, node.inputs[0], in.shape,
                                 node.outputs[0], out, list);
  desc.Int("batches", (to_space ? out : in.shape).axis(batch_axis));
  for (int i = 0; i < axes; ++i) {
    const size_t at = static_cast<size_t>(i);
    desc.Int(Format("block_%d", i), block[at]);
    desc.Int(Format("border_%d", i), border[2 * at]);
    if (!to_space) desc.Int(Format("length_%d", i), in.shape.axis(batch_axis + 1 + i));
  }
  return Status();
}

}  // namespace

extern const Op kBatchToSpaceOp;
const Op kBatchToSpaceOp = {
    .name = "batch_to_space",
    .builtins = {kTfLiteBuiltinBatchToSpaceNd, -1},
    .max_version = 4,
    .attributes = QUADRA_TEXT("block border"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .asks_for_rank = true,
    .moves = true,
    .size_input = 2,
};

extern const Op kSpaceToBatchOp;
const Op kSpaceToBatchOp = {
    .name = "space_to_batch",
    .builtins = {kTfLiteBuiltinSpaceToBatchNd, -1},
    .max_version = 4,
    .attributes = QUADRA_TEXT("block border"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .asks_for_rank = true,
    .moves = true,
    .size_input = 2,
};

}  // namespace quadra
