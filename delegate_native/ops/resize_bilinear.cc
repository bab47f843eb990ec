// RESIZE_BILINEAR: to a constant [height, width]. align_corners maps corner to corner,
// half_pixel_centers maps middles of pixels; neither maps pixel i to i * in / out.
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/cpu_kernels.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/resize.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  const TfLiteResizeBilinearParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  if (params->align_corners && params->half_pixel_centers) {
    return InvalidModel(
        "it has both align_corners and half_pixel_centers, which exclude each other");
  }
  return ImportResize(importer, "resize_bilinear", kFloats | kNarrowInts);
}

// Two slices at once, for finding the place is half of the work. Two columns, `left` and `right`,
// each between two rows, serve all pixels between them.
constexpr const char* kRow = QUADRA_TEXT(R"(
  place_t at_y = max((float(y) + shift) * scale_y - shift, 0.0f);
  int y0 = min(int(at_y), src_h - 1);
  int y1 = min(y0 + 1, src_h - 1);
  float part_y = at_y - float(y0);
  int x0 = -2;
  int s0 = s * 2;
  int s1 = min(s0 + 1, dst_s * dst_b - 1);
)");

constexpr const char* kPixel = QUADRA_TEXT(R"(
    place_t at_x = max((float(x) + shift) * scale_x - shift, 0.0f);
    int seen = x0;
    x0 = min(int(at_x), src_w - 1);
    int x1 = min(x0 + 1, src_w - 1);
    float part_x = at_x - float(x0);
)");

constexpr const char* kSliceRow = QUADRA_TEXT(R"(
  vec4 left_0 = vec4(0.0f);
  vec4 left_1 = vec4(0.0f);
  vec4 right_0 = vec4(0.0f);
  vec4 right_1 = vec4(0.0f);
)");

constexpr const char* kSlicePixel = QUADRA_TEXT(R"(
    if (x0 != seen) {
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
    write_dst(left_0 + (right_0 - left_0) * vec4(part_x), x, y, s0);
    if (s1 > s0) { write_dst(left_1 + (right_1 - left_1) * vec4(part_x), x, y, s1); }
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  const bool align_corners = node.attributes.Int("align_corners", 0) != 0;
  KernelDesc& desc = list->Add("resize_bilinear");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  desc.Float("scale_y", ResizeScale(in.h, out.h, align_corners));
  desc.Float("scale_x", ResizeScale(in.w, out.w, align_corners));
  desc.Float("shift", node.attributes.Int("half_pixel_centers", 0) ? 0.5f : 0.0f);
  std::string row = kRow, pixel = kPixel;
  if (const auto own = CpuKernelsFor(*context.gpu).resize_bilinear) {
    own(node, list, &row, &pixel);
  } else {
    row += kSliceRow;
    pixel += kSlicePixel;
  }
  LoopOverSlices(context, out, 2, row.c_str(), pixel.c_str(), &desc);
  return Status();
}

}  // namespace

extern const Op kResizeBilinearOp;
const Op kResizeBilinearOp = {
    .name = "resize_bilinear",
    .builtins = {kTfLiteBuiltinResizeBilinear, -1},
    .max_version = 4,
    .params_bytes = sizeof(TfLiteResizeBilinearParams),
    .attributes = QUADRA_TEXT("size"),
    .import = Import,
    .shape = InferResized,
    .kernels = Kernels,
    .copies = AlwaysCopies,
    .size_input = 1,
};

}  // namespace quadra
