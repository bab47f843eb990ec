// RESIZE_NEAREST_NEIGHBOR: to a constant [height, width]. align_corners maps corner to corner,
// half_pixel_centers maps middles of pixels; neither takes the pixel at i * in / out.
#include "delegate_native/base/texts.h"
#include "delegate_native/ops/index_map.h"
#include "delegate_native/ops/resize.h"

namespace quadra {
namespace {

Status Import(Importer* importer) { return ImportResize(importer, "resize_nearest", kAllElements); }

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  const bool corners = node.attributes.Int("align_corners");
  IndexMap map;
  map.keeps_channels = true;
  map.address = QUADRA_TEXT(R"(
place_t near_y = (float(at_y) + centre) * scale_y + round_up;
place_t near_x = (float(at_x) + centre) * scale_x + round_up;
at_y = min(int(near_y), src_h - 1);
at_x = min(int(near_x), src_w - 1);
)");
  KernelDesc& desc =
      AddIndexMap(context, "resize_nearest", map, node.inputs[0], in, node.outputs[0], out, list);
  desc.Float("centre", node.attributes.Int("half_pixel_centers") ? 0.5f : 0.0f);
  desc.Float("scale_y", ResizeScale(in.h, out.h, corners));
  desc.Float("scale_x", ResizeScale(in.w, out.w, corners));
  desc.Float("round_up", corners ? 0.5f : 0.0f);
  return Status();
}

}  // namespace

extern const Op kResizeNearestOp;
const Op kResizeNearestOp = {
    .name = "resize_nearest",
    .builtins = {kTfLiteBuiltinResizeNearestNeighbor, -1},
    .max_version = 4,
    .params_bytes = sizeof(TfLiteResizeNearestNeighborParams),
    .attributes = QUADRA_TEXT("size align_corners half_pixel_centers"),
    .import = Import,
    .shape = InferResized,
    .kernels = Kernels,
    .moves = true,
    .size_input = 1,
};

}  // namespace quadra
