// RESIZE_NEAREST_NEIGHBOR: to a constant [height, width]. align_corners maps corner to corner,
// half_pixel_centers maps middles of pixels; neither takes the pixel at i * in / out.
#include "delegate_native/ops/index_map.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  const TfLiteResizeNearestNeighborParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements));
  if (importer->InputRank(0) != 4) {
    return InvalidModel("its input has rank %d; rank 4 is needed", importer->InputRank(0));
  }
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(importer->Sizes(1, "size", &attributes));
  attributes.SetInt("align_corners", params->align_corners);
  attributes.SetInt("half_pixel_centers", params->half_pixel_centers);
  return importer->AddNode("resize_nearest", {src}, std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  const std::vector<int>& size = node.attributes.Ints("size");
  if (size.size() != 2) return InvalidModel("its size has %zu numbers, not 2", size.size());
  if (size[0] < 1 || size[1] < 1) {
    return InvalidModel("its size of %dx%d is not positive", size[0], size[1]);
  }
  out.shape = {in.shape.b, size[0], size[1], in.shape.c};
  out.rank = in.rank;
  return Status();
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  const bool corners = node.attributes.Int("align_corners");
  const auto scale = [&](int from, int to) {
    return corners && to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1)
                             : static_cast<float>(from) / static_cast<float>(to);
  };
  IndexMap map;
  map.keeps_channels = true;
  map.address = R"(
place_t near_y = (float(at_y) + centre) * scale_y + round_up;
place_t near_x = (float(at_x) + centre) * scale_x + round_up;
at_y = min(int(near_y), src_h - 1);
at_x = min(int(near_x), src_w - 1);
)";
  KernelDesc& desc =
      AddIndexMap(context, "resize_nearest", map, node.inputs[0], in, node.outputs[0], out, list);
  desc.Float("centre", node.attributes.Int("half_pixel_centers") ? 0.5f : 0.0f);
  desc.Float("scale_y", scale(in.h, out.h));
  desc.Float("scale_x", scale(in.w, out.w));
  desc.Float("round_up", corners ? 0.5f : 0.0f);
  return Status();
}

}  // namespace

extern const Op kResizeNearestOp;
const Op kResizeNearestOp = {
    .name = "resize_nearest",
    .builtins = {kTfLiteBuiltinResizeNearestNeighbor, -1},
    .max_version = 4,
    .attributes = "size align_corners half_pixel_centers",
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .size_input = 1,
};

}  // namespace quadra
