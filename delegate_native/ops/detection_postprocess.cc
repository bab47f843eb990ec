// TFLite_Detection_PostProcess, a custom op: the boxes that are found best, of an SSD's anchors. A
// box is its anchor moved and scaled; its class is the one with the largest number, without the
// background. The best box is taken, then the best one of those that do not overlap it, and so on:
// of equal ones the first. Options are a map in a FlexBuffer. Results that no box is left for are
// 0.
#include <vector>

#include "delegate_native/base/texts.h"
#include "delegate_native/ops/flex_map.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 3, 4));
  const uint8_t* bytes = nullptr;
  const size_t size = importer->CustomOptions(&bytes);
  FlexMap options;
  QUADRA_RETURN_IF_ERROR(options.Read(bytes, size));
  int classes, kept, for_each;
  std::vector<float> scales(4), limits(2);
  QUADRA_RETURN_IF_ERROR(options.Size("max_detections", &kept));
  QUADRA_RETURN_IF_ERROR(options.Size("max_classes_per_detection", &for_each));
  QUADRA_RETURN_IF_ERROR(options.Size("num_classes", &classes));
  QUADRA_RETURN_IF_ERROR(options.Float("y_scale", &scales[0]));
  QUADRA_RETURN_IF_ERROR(options.Float("x_scale", &scales[1]));
  QUADRA_RETURN_IF_ERROR(options.Float("h_scale", &scales[2]));
  QUADRA_RETURN_IF_ERROR(options.Float("w_scale", &scales[3]));
  QUADRA_RETURN_IF_ERROR(options.Float("nms_score_threshold", &limits[0]));
  QUADRA_RETURN_IF_ERROR(options.Float("nms_iou_threshold", &limits[1]));
  if (options.Flag("use_regular_nms")) {
    return Unsupported("it selects for each class (use_regular_nms); the fast way is supported");
  }
  if (for_each != 1) return Unsupported("it gives %d classes of a box; 1 is supported", for_each);
  for (float& scale : scales) {
    if (!(scale > 0.0f)) return InvalidModel("a scale of its boxes is not above 0");
    scale = 1.0f / scale;
  }
  ValueId encoded, scores, anchors;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &encoded));
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &scores));
  QUADRA_RETURN_IF_ERROR(importer->Operand(2, &anchors));

  Attributes decode, best, select;
  decode.SetFloats("scales", std::move(scales));
  const ValueId boxes =
      importer->AddInnerNode("decode_boxes", {encoded, anchors}, std::move(decode));
  best.SetInt("classes", classes);
  const ValueId found = importer->AddInnerNode("best_class", {scores}, std::move(best));
  select.SetInt("most", kept);
  select.SetFloats("limits", std::move(limits));
  const ValueId picks = importer->AddInnerNode("select_boxes", {boxes, found}, std::move(select));
  importer->graph()->value(picks).element = Element::kInt32;
  constexpr struct {
    const char* name;
    int rank;
  } kParts[] = {{"box", 3}, {"class", 2}, {"score", 2}, {"count", 1}};
  for (int i = 0; i < 4; ++i) {
    Attributes part;
    part.SetWord("part", kParts[i].name);
    part.SetInt("rank", kParts[i].rank);
    QUADRA_RETURN_IF_ERROR(
        importer->AddNodeFor(i, "selected_part", {i == 0 ? boxes : found, picks}, std::move(part)));
  }
  return Status();
}

Status InferBoxes(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  const Shape& anchors = graph->shape(node.inputs[1]);
  Value& out = graph->value(node.outputs[0]);
  if (in.rank != 3 || in.shape.h != 1 || in.shape.c < 4 || anchors.c != 4 ||
      anchors.elements() != int64_t{4} * in.shape.w) {
    return InvalidModel("its boxes are %s, its anchors %s", ToString(in.shape).c_str(),
                        ToString(anchors).c_str());
  }
  out.shape = {1, 1, in.shape.w, 4};
  out.rank = 3;
  return Status();
}

// Centre and size are y, x, height, width; a box is its lower and upper ends, y before x.
constexpr const char* kDecode = QUADRA_TEXT(R"(
    sum4_t moved = read_src(x, y, s);
    sum4_t anchor = read_anchors(x, y, s);
    sum_t at_y = moved.x * scale_y * anchor.z + anchor.x;
    sum_t at_x = moved.y * scale_x * anchor.w + anchor.y;
    sum4_t size = exp(vec4(moved.z * scale_h, moved.w * scale_w, 0.0f, 0.0f));
    sum_t high = 0.5f * size.x * anchor.z;
    sum_t wide = 0.5f * size.y * anchor.w;
    write_dst(vec4(at_y - high, at_x - wide, at_y + high, at_x + wide), x, y, s);
)");

Status DecodeKernels(const KernelContext& context, const Graph& graph, const Node& node,
                     KernelList* list) {
  const std::vector<float>& scales = node.attributes.Floats("scales");
  KernelDesc& desc = list->Add("decode_boxes");
  desc.Read("src", node.inputs[0]);
  desc.Read("anchors", node.inputs[1]);
  desc.Write("dst", node.outputs[0]);
  desc.Float("scale_y", scales[0]);
  desc.Float("scale_x", scales[1]);
  desc.Float("scale_h", scales[2]);
  desc.Float("scale_w", scales[3]);
  LoopOverResults(context, graph.shape(node.outputs[0]), "", kDecode, &desc);
  return Status();
}

// The best number of each anchor, and the class that has it.
Status InferBest(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  const int classes = node.attributes.Int("classes");
  if (in.rank != 3 || in.shape.h != 1 || (in.shape.c != classes && in.shape.c != classes + 1)) {
    return InvalidModel("it has %d classes, and numbers of %s", classes,
                        ToString(in.shape).c_str());
  }
  Value& out = graph->value(node.outputs[0]);
  out.shape = {1, 1, in.shape.w, 2};
  out.rank = 3;
  return Status();
}

constexpr const char* kBest = QUADRA_TEXT(R"(
    float best = 0.0f;
    int found = -1;
    for (int i = 0; i < src_s; ++i) {
      vec4 v = read_src(x, y, i);
      for (int j = 0; j < min(4, src_c - i * 4); ++j) {
        int c = i * 4 + j - background;
        float n = lane(v, j);
        if (c >= 0 && (found < 0 || n > best)) { best = n; found = c; }
      }
    }
    write_dst(vec4(best, float(found), 0.0f, 0.0f), x, y, s);
)");

Status BestKernels(const KernelContext& context, const Graph& graph, const Node& node,
                   KernelList* list) {
  const int channels = graph.shape(node.inputs[0]).c;
  KernelDesc& desc = list->Add("best_class");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  desc.Int("background", channels - node.attributes.Int("classes"));
  desc.trips = channels;
  LoopOverResults(context, graph.shape(node.outputs[0]), "", kBest, &desc);
  return Status();
}

}  // namespace

extern const Op kDecodeBoxesOp;
const Op kDecodeBoxesOp = {
    .name = "decode_boxes",
    .custom = QUADRA_TEXT("TFLite_Detection_PostProcess"),
    .attributes = QUADRA_TEXT("scales"),
    .import = Import,
    .shape = InferBoxes,
    .kernels = DecodeKernels,
};

extern const Op kBestClassOp;
const Op kBestClassOp = {
    .name = "best_class",
    .attributes = QUADRA_TEXT("classes"),
    .shape = InferBest,
    .kernels = BestKernels,
};

}  // namespace quadra
