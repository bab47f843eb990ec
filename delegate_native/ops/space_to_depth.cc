// SPACE_TO_DEPTH: blocks of pixels become channels:
// out[h, w, (i * block + j) * channels + c] = in[h * block + i, w * block + j, c].
#include "delegate_native/ops/index_map.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  const TfLiteSpaceToDepthParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements));
  if (importer->InputRank(0) != 4) {
    return InvalidModel("its input has rank %d; rank 4 is needed", importer->InputRank(0));
  }
  Attributes attributes;
  attributes.SetInt("block", params->block_size);
  return importer->AddNode("space_to_depth", {src}, std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  const int block = node.attributes.Int("block");
  if (block < 1 || in.shape.h % block != 0 || in.shape.w % block != 0 ||
      block > INT32_MAX / block / in.shape.c) {
    return InvalidModel("%dx%d pixels are no blocks of %dx%d", in.shape.h, in.shape.w, block,
                        block);
  }
  out.shape = {in.shape.b, in.shape.h / block, in.shape.w / block, in.shape.c * block * block};
  out.rank = in.rank;
  return Status();
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  IndexMap map;
  map.address = R"(
int in_block = at_c / src_c;
at_c -= in_block * src_c;
at_y = at_y * block + in_block / block;
at_x = at_x * block + in_block % block;
)";
  AddIndexMap(context, "space_to_depth", map, node.inputs[0], graph.shape(node.inputs[0]),
              node.outputs[0], graph.shape(node.outputs[0]), list)
      .Int("block", node.attributes.Int("block"));
  return Status();
}

bool HasBlocksOfOne(const Node& node) { return node.attributes.Int("block") == 1; }

}  // namespace

extern const Op kSpaceToDepthOp;
const Op kSpaceToDepthOp = {
    .name = "space_to_depth",
    .builtins = {kTfLiteBuiltinSpaceToDepth, -1},
    .max_version = 2,
    .attributes = "block",
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .copies = HasBlocksOfOne,
};

}  // namespace quadra
