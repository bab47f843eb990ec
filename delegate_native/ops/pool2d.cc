// MAX_POOL_2D and AVERAGE_POOL_2D: over a window of each channel. Cells outside the image count
// for nothing: a maximum is of those inside, an average divides by how many they are.
#include <algorithm>

#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/limits.h"
#include "delegate_native/ops/mean.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  const TfLitePoolParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  if (importer->InputRank(0) != 4) {
    return InvalidModel("its input has rank %d; pooling is over rank 4", importer->InputRank(0));
  }
  if (params->stride_height < 1 || params->stride_width < 1 || params->filter_height < 1 ||
      params->filter_width < 1) {
    return InvalidModel("its window is %dx%d with strides %dx%d; all must be positive",
                        params->filter_height, params->filter_width, params->stride_height,
                        params->stride_width);
  }
  if (params->padding != kTfLitePaddingSame && params->padding != kTfLitePaddingValid) {
    return InvalidModel("its padding has code %d; SAME and VALID are known", params->padding);
  }
  Attributes attributes;
  attributes.SetInts("filter", {params->filter_height, params->filter_width});
  attributes.SetInts("stride", {params->stride_height, params->stride_width});
  attributes.SetWord("padding", params->padding == kTfLitePaddingSame ? "same" : "valid");
  const bool is_max = importer->builtin() == kTfLiteBuiltinMaxPool2d;
  return importer->AddNode(is_max ? "max_pool2d" : "average_pool2d", {src}, attributes,
                           params->activation);
}

// Output size along one axis (0 = y, 1 = x), and the cells that hang over its beginning.
void Window(const Node& node, size_t axis, int in, int* out, int* before) {
  const int filter = node.attributes.Ints("filter")[axis];
  const int stride = node.attributes.Ints("stride")[axis];
  const std::string& padding = node.attributes.Word("padding");
  *before = 0;
  if (padding == "same") {
    *out = CeilDiv(in, stride);
    *before = std::max(0, (*out - 1) * stride + filter - in) / 2;
  } else if (padding == "explicit") {
    const std::vector<int>& pad = node.attributes.Ints("pad");
    *before = pad[2 * axis];
    *out = (in + pad[2 * axis] + pad[2 * axis + 1] - filter + stride) / stride;
  } else {
    *out = (in - filter + stride) / stride;
  }
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  int before;
  out.shape = in.shape;
  Window(node, 0, in.shape.h, &out.shape.h, &before);
  Window(node, 1, in.shape.w, &out.shape.w, &before);
  out.rank = in.rank;
  if (out.shape.h < 1 || out.shape.w < 1) {
    return InvalidModel("its window of %dx%d does not fit into an image of %dx%d",
                        node.attributes.Ints("filter")[0], node.attributes.Ints("filter")[1],
                        in.shape.h, in.shape.w);
  }
  return Status();
}

// Whether the only window holds the whole image.
bool CoversImage(const Node& node, const Shape& in, const Shape& out) {
  bool covers = out.h == 1 && out.w == 1;
  for (size_t axis = 0; axis < 2; ++axis) {
    int size, before;
    const int length = axis == 0 ? in.h : in.w;
    Window(node, axis, length, &size, &before);
    covers &= node.attributes.Ints("filter")[axis] - before >= length;
  }
  return covers;
}

// Two slices at once, for finding the window is half of the work.
constexpr char kRow[] = R"(
  int y0 = y * stride_y - before_y;
  int y1 = min(y0 + filter_y, src_h);
  y0 = max(y0, 0);
  int s0 = s * 2;
  int s1 = min(s0 + 1, dst_s * dst_b - 1);
)";

constexpr char kMaxPixel[] = R"(
    int x0 = x * stride_x - before_x;
    int x1 = min(x0 + filter_x, src_w);
    x0 = max(x0, 0);
    vec4 v0 = read_src(x0, y0, s0);
    vec4 v1 = read_src(x0, y0, s1);
    for (int from_y = y0; from_y < y1; ++from_y) {
      for (int from_x = x0; from_x < x1; ++from_x) {
        v0 = max(v0, read_src(from_x, from_y, s0));
        v1 = max(v1, read_src(from_x, from_y, s1));
      }
    }
    write_dst(v0, x, y, s0);
    if (s1 > s0) { write_dst(v1, x, y, s1); }
)";

constexpr char kAveragePixel[] = R"(
    int x0 = x * stride_x - before_x;
    int x1 = min(x0 + filter_x, src_w);
    x0 = max(x0, 0);
    sum4_t v0 = vec4(0.0f);
    sum4_t v1 = vec4(0.0f);
    for (int from_y = y0; from_y < y1; ++from_y) {
      for (int from_x = x0; from_x < x1; ++from_x) {
        v0 += read_src(from_x, from_y, s0);
        v1 += read_src(from_x, from_y, s1);
      }
    }
    sum4_t count = vec4(float((y1 - y0) * (x1 - x0)));
    write_dst(v0 / count, x, y, s0);
    if (s1 > s0) { write_dst(v1 / count, x, y, s1); }
)";

int64_t TripsOf(const Node& node, const Shape& in, bool along_y, bool along_x) {
  const std::vector<int>& filter = node.attributes.Ints("filter");
  const int64_t rows = along_y ? std::min(filter[0], in.h) : 1;
  return rows * (along_x ? std::min(filter[1], in.w) + 1 : 2);
}

// From which tensor into which, along which axes.
struct PoolStep {
  int from, to;
  bool along_y, along_x;
};

void AddPool(const KernelContext& context, const Node& node, const Shape& in, const Shape& out,
             const PoolStep& step, KernelList* list) {
  KernelDesc& desc = list->Add(node.op.c_str());
  desc.Read("src", step.from);
  desc.Write("dst", step.to);
  const char* const names[2][3] = {{"filter_y", "stride_y", "before_y"},
                                   {"filter_x", "stride_x", "before_x"}};
  for (size_t axis = 0; axis < 2; ++axis) {
    const bool along = axis == 0 ? step.along_y : step.along_x;
    int size, before;
    Window(node, axis, axis == 0 ? in.h : in.w, &size, &before);
    desc.Int(names[axis][0], along ? node.attributes.Ints("filter")[axis] : 1);
    desc.Int(names[axis][1], along ? node.attributes.Ints("stride")[axis] : 1);
    desc.Int(names[axis][2], along ? before : 0);
  }
  desc.trips = TripsOf(node, in, step.along_y, step.along_x);
  LoopOverSlices(context, out, 2, kRow, node.op == "max_pool2d" ? kMaxPixel : kAveragePixel, &desc);
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  const bool is_max = node.op == "max_pool2d";
  if (!is_max && CoversImage(node, in, out)) {
    AddMeanKernels(context, node.inputs[0], in, node.outputs[0], out, /*chunk=*/7, list);
    return Status();
  }
  if (context.gpu->is_cpu() || TripsOf(node, in, true, true) <= kMostTrips) {
    AddPool(context, node, in, out, {node.inputs[0], node.outputs[0], true, true}, list);
    return Status();
  }
  // Rows first, then columns of their results: the cells inside the image are a rectangle.
  Shape rows = in;
  rows.w = out.w;
  const int between = list->AddScratch(rows);
  AddPool(context, node, in, rows, {node.inputs[0], between, false, true}, list);
  AddPool(context, node, rows, out, {between, node.outputs[0], true, false}, list);
  return Status();
}

}  // namespace

extern const Op kMaxPool2dOp, kAveragePool2dOp;
const Op kMaxPool2dOp = {"max_pool2d", {kTfLiteBuiltinMaxPool2d, -1}, nullptr, 3,
                         Import, InferShape, Kernels, nullptr};
const Op kAveragePool2dOp = {"average_pool2d", {kTfLiteBuiltinAveragePool2d, -1}, nullptr, 3,
                             Import, InferShape, Kernels, nullptr};

}  // namespace quadra
