// MediaPipe's ops that cut a turned and scaled part out of an image, in their second versions:
// Landmarks2TransformMatrix finds the part by landmarks, TransformTensorBilinear cuts it out,
// TransformLandmarks brings landmarks of the part back. A matrix is [1, 4, 4], of which the first
// two rows move x and y. Options are a map in a FlexBuffer.
#include <vector>

#include "delegate_native/base/texts.h"
#include "delegate_native/ops/flex_map.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status ReadOptions(const Importer& importer, FlexMap* options) {
  const uint8_t* bytes = nullptr;
  const size_t size = importer.CustomOptions(&bytes);
  return options->Read(bytes, size);
}

Status ImportMatrix(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  if (importer->InputRank(0) != 3) {
    return Unsupported("its landmarks have rank %d, as in its first version; rank 3 is supported",
                       importer->InputRank(0));
  }
  FlexMap options;
  QUADRA_RETURN_IF_ERROR(ReadOptions(*importer, &options));
  int width, height, left, right;
  float scale_x, scale_y, target;
  std::vector<int> subset;
  QUADRA_RETURN_IF_ERROR(options.Size("output_width", &width));
  QUADRA_RETURN_IF_ERROR(options.Size("output_height", &height));
  QUADRA_RETURN_IF_ERROR(options.Place("left_rotation_idx", &left));
  QUADRA_RETURN_IF_ERROR(options.Place("right_rotation_idx", &right));
  QUADRA_RETURN_IF_ERROR(options.Float("scale_x", &scale_x));
  QUADRA_RETURN_IF_ERROR(options.Float("scale_y", &scale_y));
  QUADRA_RETURN_IF_ERROR(options.Float("target_rotation_radians", &target));
  QUADRA_RETURN_IF_ERROR(options.Places("subset_idxs", &subset));
  Attributes attributes;
  attributes.SetInts("size", {width, height});
  attributes.SetInts("eyes", {left, right});
  attributes.SetFloats("scale", {scale_x, scale_y});
  attributes.SetFloat("target", target);
  attributes.SetInts("subset", std::move(subset));
  return importer->AddNode("landmarks_to_matrix", {src}, std::move(attributes));
}

Status InferMatrix(Graph* graph, const Node& node) {
  const Shape& in = graph->shape(node.inputs[0]);
  const auto all_inside = [&](const std::vector<int>& places) {
    for (int place : places) {
      if (place >= in.w) return false;
    }
    return true;
  };
  if (in.c < 2 || in.h * in.b != 1 || !all_inside(node.attributes.Ints("subset")) ||
      !all_inside(node.attributes.Ints("eyes"))) {
    return InvalidModel("its places do not fit %s", ToString(in).c_str());
  }
  Value& out = graph->value(node.outputs[0]);
  out.shape = {1, 1, 4, 4};
  out.rank = 3;
  return Status();
}

// The smallest upright rectangle around the turned landmarks, scaled; the matrix takes the pixels
// of the part to it and turns it back.
constexpr const char* kMatrix = QUADRA_TEXT(R"(
if (GLOBAL_X > 0) { return; }
sum4_t from = read_src(left, 0, 0);
sum4_t to = read_src(right, 0, 0);
sum_t turn = target - arc_tangent(vec4(to.y - from.y), vec4(to.x - from.x)).x;
sum_t c = cosine(vec4(turn)).x;
sum_t s = sine(vec4(turn)).x;
sum_t least_x = 0.0f;
sum_t least_y = 0.0f;
sum_t most_x = 0.0f;
sum_t most_y = 0.0f;
for (int i = 0; i < count; ++i) {
  sum4_t at = read_src(int(read_subset(min(i, count - 1))), 0, 0);
  sum_t x = at.x * c - at.y * s;
  sum_t y = at.x * s + at.y * c;
  least_x = i == 0 ? x : min(least_x, x);
  least_y = i == 0 ? y : min(least_y, y);
  most_x = i == 0 ? x : max(most_x, x);
  most_y = i == 0 ? y : max(most_y, y);
}
sum_t middle_x = (least_x + most_x) / 2.0f;
sum_t middle_y = (least_y + most_y) / 2.0f;
sum_t wide = scale_x * (most_x - least_x) / width;
sum_t high = scale_y * (most_y - least_y) / height;
sum_t back_x = middle_x * c + middle_y * s - (c * wide * width + s * high * height) / 2.0f;
sum_t back_y = middle_y * c - middle_x * s - (c * high * height - s * wide * width) / 2.0f;
write_dst(vec4(c * wide, s * high, 0.0f, back_x), 0, 0, 0);
write_dst(vec4(-s * wide, c * high, 0.0f, back_y), 1, 0, 0);
write_dst(vec4(0.0f, 0.0f, 1.0f, 0.0f), 2, 0, 0);
write_dst(vec4(0.0f, 0.0f, 0.0f, 1.0f), 3, 0, 0);
)");

Status MatrixKernels(const KernelContext&, const Graph&, const Node& node, KernelList* list) {
  const Attributes& a = node.attributes;
  const std::vector<int>& subset = a.Ints("subset");
  KernelDesc& desc = list->Add("landmarks_to_matrix");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  desc.Constant("subset", std::vector<float>(subset.begin(), subset.end()), 1);
  desc.Int("count", static_cast<int>(subset.size()));
  desc.Int("left", a.Ints("eyes")[0]);
  desc.Int("right", a.Ints("eyes")[1]);
  desc.Float("target", a.Float("target"));
  desc.Float("scale_x", a.Floats("scale")[0]);
  desc.Float("scale_y", a.Floats("scale")[1]);
  desc.Float("width", static_cast<float>(a.Ints("size")[0]));
  desc.Float("height", static_cast<float>(a.Ints("size")[1]));
  desc.trips = static_cast<int64_t>(subset.size());
  desc.body = kMatrix;
  return Status();
}

// Both ops below: what is moved, and the matrix.
Status MovedAndMatrix(Importer* importer, std::vector<ValueId>* values) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  values->resize(2);
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &(*values)[0]));
  return importer->Operand(1, &(*values)[1]);
}

Status CheckMatrix(const Graph& graph, const Node& node) {
  const Shape& matrix = graph.shape(node.inputs[1]);
  if (matrix.c == 4 && matrix.w == 4 && matrix.h * matrix.b == 1) return Status();
  return InvalidModel("its matrix has the shape %s", ToString(matrix).c_str());
}

Status ImportCut(Importer* importer) {
  std::vector<ValueId> values;
  QUADRA_RETURN_IF_ERROR(MovedAndMatrix(importer, &values));
  FlexMap options;
  QUADRA_RETURN_IF_ERROR(ReadOptions(*importer, &options));
  int width, height;
  QUADRA_RETURN_IF_ERROR(options.Size("output_width", &width));
  QUADRA_RETURN_IF_ERROR(options.Size("output_height", &height));
  Attributes attributes;
  attributes.SetInts("size", {width, height});
  return importer->AddNode("transform_tensor", std::move(values), std::move(attributes));
}

Status InferCut(Graph* graph, const Node& node) {
  QUADRA_RETURN_IF_ERROR(CheckMatrix(*graph, node));
  const Value& in = graph->value(node.inputs[0]);
  if (in.rank != 4 || in.shape.b != 1) {
    return Unsupported("its image has the shape %s; one image of rank 4 is supported",
                       ToString(in.shape).c_str());
  }
  const std::vector<int>& size = node.attributes.Ints("size");
  Value& out = graph->value(node.outputs[0]);
  out.shape = {1, size[1], size[0], in.shape.c};
  out.rank = 4;
  return Status();
}

// The matrix moves the middles of pixels. What lies outside the image is 0.
constexpr const char* kCut = QUADRA_TEXT(R"(
    place_t px = float(x) + 0.5f;
    place_t py = float(y) + 0.5f;
    sum4_t to_x = read_matrix(0, 0, 0);
    sum4_t to_y = read_matrix(1, 0, 0);
    place_t at_x = to_x.x * px + to_x.y * py + to_x.w - 0.5f;
    place_t at_y = to_y.x * px + to_y.y * py + to_y.w - 0.5f;
    vec4 v = vec4(0.0f);
    if (at_x >= 0.0f && at_x <= float(src_w - 1) && at_y >= 0.0f && at_y <= float(src_h - 1)) {
      int x0 = int(at_x);
      int y0 = int(at_y);
      int x1 = min(x0 + 1, src_w - 1);
      int y1 = min(y0 + 1, src_h - 1);
      vec4 right = vec4(at_x - float(x0));
      vec4 low = vec4(at_y - float(y0));
      vec4 upper = (vec4(1.0f) - right) * read_src(x0, y0, s) + right * read_src(x1, y0, s);
      vec4 lower = (vec4(1.0f) - right) * read_src(x0, y1, s) + right * read_src(x1, y1, s);
      v = (vec4(1.0f) - low) * upper + low * lower;
    }
    write_dst(v, x, y, s);
)");

Status ImportMoved(Importer* importer) {
  std::vector<ValueId> values;
  QUADRA_RETURN_IF_ERROR(MovedAndMatrix(importer, &values));
  if (importer->InputRank(0) != 3) {
    return Unsupported("its landmarks have rank %d, as in its first version; rank 3 is supported",
                       importer->InputRank(0));
  }
  return importer->AddNode("transform_landmarks", std::move(values), {});
}

Status InferMoved(Graph* graph, const Node& node) {
  QUADRA_RETURN_IF_ERROR(CheckMatrix(*graph, node));
  const Value& in = graph->value(node.inputs[0]);
  if (in.shape.c != 2 && in.shape.c != 3) {
    return InvalidModel("its landmarks have %d coordinates", in.shape.c);
  }
  graph->value(node.outputs[0]).shape = in.shape;
  graph->value(node.outputs[0]).rank = in.rank;
  return Status();
}

constexpr const char* kMoved = QUADRA_TEXT(R"(
    sum4_t at = read_src(x, y, s);
    sum4_t to_x = read_matrix(0, 0, 0);
    sum4_t to_y = read_matrix(1, 0, 0);
    vec4 v = vec4(to_x.x * at.x + to_x.y * at.y + to_x.w, to_y.x * at.x + to_y.y * at.y + to_y.w, at.z, 0.0f);
    write_dst(v, x, y, s);
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  KernelDesc& desc = list->Add(node.op.c_str());
  desc.Read("src", node.inputs[0]);
  desc.Read("matrix", node.inputs[1]);
  desc.Write("dst", node.outputs[0]);
  LoopOverResults(context, graph.shape(node.outputs[0]), "",
                  node.op == "transform_tensor" ? kCut : kMoved, &desc);
  return Status();
}

}  // namespace

extern const Op kLandmarksToMatrixOp;
const Op kLandmarksToMatrixOp = {
    .name = "landmarks_to_matrix",
    .custom = QUADRA_TEXT("Landmarks2TransformMatrix"),
    .max_version = 2,
    .attributes = QUADRA_TEXT("size eyes scale target subset"),
    .import = ImportMatrix,
    .shape = InferMatrix,
    .kernels = MatrixKernels,
};

extern const Op kTransformTensorOp;
const Op kTransformTensorOp = {
    .name = "transform_tensor",
    .custom = QUADRA_TEXT("TransformTensorBilinear"),
    .max_version = 2,
    .attributes = QUADRA_TEXT("size"),
    .import = ImportCut,
    .shape = InferCut,
    .kernels = Kernels,
};

extern const Op kTransformLandmarksOp;
const Op kTransformLandmarksOp = {
    .name = "transform_landmarks",
    .custom = QUADRA_TEXT("TransformLandmarks"),
    .max_version = 2,
    .import = ImportMoved,
    .shape = InferMoved,
    .kernels = Kernels,
};

}  // namespace quadra
