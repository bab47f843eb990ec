// DEPTH_TO_SPACE: channels become blocks of pixels:
// out[h * block + i, w * block + j, c] = in[h, w, (i * block + j) * out_channels + c].
#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  const TfLiteDepthToSpaceParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  if (importer->InputRank(0) != 4) {
    return InvalidModel("its input has rank %d; rank 4 is needed", importer->InputRank(0));
  }
  Attributes attributes;
  attributes.SetInt("block", params->block_size);
  return importer->AddNode("depth_to_space", {src}, attributes);
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  const int block = node.attributes.Int("block");
  if (block < 1 || block > in.shape.c || in.shape.c % (block * block) != 0) {
    return InvalidModel("%d channels do not make blocks of %dx%d pixels", in.shape.c, block,
                        block);
  }
  out.shape = {in.shape.b, in.shape.h * block, in.shape.w * block, in.shape.c / (block * block)};
  out.rank = in.rank;
  return Status();
}

constexpr char kRow[] = R"(
  int slice = s % dst_s;
  int from_s = s / dst_s * src_s;
  int from_y = y / block;
  int block_y = y - from_y * block;
)";

constexpr char kPixel[] = R"(
    int from_x = x / block;
    int first = (block_y * block + x - from_x * block) * dst_c + slice * 4;
    vec4 v = vec4(0.0f);
    if (whole_slices != 0) {
      v = read_src(from_x, from_y, from_s + first / 4);
    } else {
      for (int i = 0; i < 4; ++i) {
        int c = min(first + i, src_c - 1);
        v = with_lane(v, i, lane(read_src(from_x, from_y, from_s + c / 4), c % 4));
      }
    }
    write_dst(v, x, y, s);
)";

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& out = graph.shape(node.outputs[0]);
  KernelDesc& desc = list->Add("depth_to_space");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  desc.Int("block", node.attributes.Int("block"));
  desc.Int("whole_slices", out.c % 4 == 0);
  LoopOverResults(context, out, kRow, kPixel, &desc);
  return Status();
}

}  // namespace

extern const Op kDepthToSpaceOp;
const Op kDepthToSpaceOp = {"depth_to_space", {kTfLiteBuiltinDepthToSpace, -1}, nullptr, 2,
                            Import, InferShape, Kernels, nullptr};

}  // namespace quadra
