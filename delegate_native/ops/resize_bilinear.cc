// RESIZE_BILINEAR: to a constant [height, width]. align_corners maps corner to corner,
// half_pixel_centers maps middles of pixels; neither maps pixel i to i * in / out.
#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  const TfLiteResizeBilinearParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  if (params->align_corners && params->half_pixel_centers) {
    return InvalidModel(
        "it has both align_corners and half_pixel_centers, which exclude each other");
  }
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  if (importer->InputRank(0) != 4) {
    return InvalidModel("its input has rank %d; rank 4 is needed", importer->InputRank(0));
  }
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(importer->Sizes(1, "size", &attributes));
  attributes.SetInt("align_corners", params->align_corners);
  attributes.SetInt("half_pixel_centers", params->half_pixel_centers);
  return importer->AddNode("resize_bilinear", {src}, std::move(attributes));
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

// Two slices at once, for finding the place is half of the work. Two columns, `left` and `right`,
// each between two rows, serve all pixels between them.
constexpr char kRow[] = R"(
  place_t at_y = max((float(y) + shift) * scale_y - shift, 0.0f);
  int y0 = min(int(at_y), src_h - 1);
  int y1 = min(y0 + 1, src_h - 1);
  float part_y = at_y - float(y0);
  int x0 = -2;
  int s0 = s * 2;
  int s1 = min(s0 + 1, dst_s * dst_b - 1);
  vec4 left_0 = vec4(0.0f);
  vec4 left_1 = vec4(0.0f);
  vec4 right_0 = vec4(0.0f);
  vec4 right_1 = vec4(0.0f);
)";

constexpr char kPixel[] = R"(
    place_t at_x = max((float(x) + shift) * scale_x - shift, 0.0f);
    int seen = x0;
    x0 = min(int(at_x), src_w - 1);
    if (x0 != seen) {
      int x1 = min(x0 + 1, src_w - 1);
      left_0 = right_0;
      left_1 = right_1;
      if (x0 != seen + 1) {
        left_0 = read_src(x0, y0, s0);
        left_1 = read_src(x0, y0, s1);
        left_0 += (read_src(x0, y1, s0) - left_0) * vec4(part_y);
        left_1 += (read_src(x0, y1, s1) - left_1) * vec4(part_y);
      }
      right_0 = read_src(x1, y0, s0);
      right_1 = read_src(x1, y0, s1);
      right_0 += (read_src(x1, y1, s0) - right_0) * vec4(part_y);
      right_1 += (read_src(x1, y1, s1) - right_1) * vec4(part_y);
    }
    float part_x = at_x - float(x0);
    write_dst(left_0 + (right_0 - left_0) * vec4(part_x), x, y, s0);
    if (s1 > s0) { write_dst(left_1 + (right_1 - left_1) * vec4(part_x), x, y, s1); }
)";

float Scale(int in, int out, bool align_corners) {
  if (align_corners && out > 1) return static_cast<float>(in - 1) / static_cast<float>(out - 1);
  return static_cast<float>(in) / static_cast<float>(out);
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  const bool align_corners = node.attributes.Int("align_corners", 0) != 0;
  KernelDesc& desc = list->Add("resize_bilinear");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  desc.Float("scale_y", Scale(in.h, out.h, align_corners));
  desc.Float("scale_x", Scale(in.w, out.w, align_corners));
  desc.Float("shift", node.attributes.Int("half_pixel_centers", 0) ? 0.5f : 0.0f);
  LoopOverSlices(context, out, 2, kRow, kPixel, &desc);
  return Status();
}

}  // namespace

extern const Op kResizeBilinearOp;
const Op kResizeBilinearOp = {
    .name = "resize_bilinear",
    .builtins = {kTfLiteBuiltinResizeBilinear, -1},
    .max_version = 4,
    .attributes = "size",
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .copies = AlwaysCopies,
    .size_input = 1,
};

}  // namespace quadra
