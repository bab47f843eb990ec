// DEPTH_TO_SPACE: channels become blocks of pixels:
// out[h * block + i, w * block + j, c] = in[h, w, (i * block + j) * out_channels + c].
// SPACE_TO_DEPTH: the reverse.
#include "delegate_native/base/texts.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/index_map.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  const TfLiteDepthToSpaceParams* params;  // those of SPACE_TO_DEPTH are alike
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements));
  if (importer->InputRank(0) != 4) {
    return InvalidModel("its input has rank %d; rank 4 is needed", importer->InputRank(0));
  }
  Attributes attributes;
  attributes.SetInt("block", params->block_size);
  const bool to_space = importer->builtin() == kTfLiteBuiltinDepthToSpace;
  return importer->AddNode(to_space ? "depth_to_space" : "space_to_depth", {src},
                           std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  const int block = node.attributes.Int("block");
  if (block < 1 || block > in.shape.c / block || in.shape.c % (block * block) != 0) {
    return InvalidModel("%d channels do not make blocks of %dx%d pixels", in.shape.c, block, block);
  }
  out.shape = {in.shape.b, in.shape.h * block, in.shape.w * block, in.shape.c / (block * block)};
  out.rank = in.rank;
  return Status();
}

// Pixels of a row that come from the same channels, one such set after the other.
constexpr const char* kRow = QUADRA_TEXT(R"(
  int from_s = s / dst_s * src_s;
  int from_y = y / block;
  for (int step = 0; step < block; ++step) {
    int first = ((y - from_y * block) * block + step) * dst_c + s % dst_s * 4;
    int low = from_s + first / 4;
    int high = from_s + min(first / 4 + 1, src_s - 1);
    int from_x = (x_begin + block - 1 - step) / block;
    for (int x = from_x * block + step; x < x_end; x += block) {
      num4 v = read_src(from_x, from_y, low);
      if (first % 4 != 0) { v = num_lanes_from(v, read_src(from_x, from_y, high), first % 4); }
      write_dst(v, x, y, s);
      from_x += 1;
    }
  }
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& out = graph.shape(node.outputs[0]);
  KernelDesc& desc = list->Add("depth_to_space");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  desc.Int("block", node.attributes.Int("block"));
  LoopOverResults(context, out, kRow, "", &desc);
  return Status();
}

Status InferDepth(Graph* graph, const Node& node) {
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

Status DepthKernels(const KernelContext& context, const Graph& graph, const Node& node,
                    KernelList* list) {
  IndexMap map;
  map.address = QUADRA_TEXT(R"(
int in_block = at_c / src_c;
at_c -= in_block * src_c;
at_y = at_y * block + in_block / block;
at_x = at_x * block + in_block % block;
)");
  AddIndexMap(context, "space_to_depth", map, node.inputs[0], graph.shape(node.inputs[0]),
              node.outputs[0], graph.shape(node.outputs[0]), list)
      .Int("block", node.attributes.Int("block"));
  return Status();
}

bool HasBlocksOfOne(const Node& node) { return node.attributes.Int("block") == 1; }

}  // namespace

extern const Op kDepthToSpaceOp;
const Op kDepthToSpaceOp = {
    .name = "depth_to_space",
    .builtins = {kTfLiteBuiltinDepthToSpace, -1},
    .max_version = 2,
    .params_bytes = sizeof(TfLiteDepthToSpaceParams),
    .attributes = QUADRA_TEXT("block"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .copies = HasBlocksOfOne,
    .moves = true,
};

extern const Op kSpaceToDepthOp;
const Op kSpaceToDepthOp = {
    .name = "space_to_depth",
    .builtins = {kTfLiteBuiltinSpaceToDepth, -1},
    .max_version = 2,
    .params_bytes = sizeof(TfLiteDepthToSpaceParams),
    .attributes = QUADRA_TEXT("block"),
    .import = Import,
    .shape = InferDepth,
    .kernels = DepthKernels,
    .copies = HasBlocksOfOne,
    .moves = true,
};

}  // namespace quadra
