// MAX_POOL_2D, AVERAGE_POOL_2D and L2_POOL_2D (the root of the squares' average): over a window of
// each channel. Cells outside the image count for nothing: a maximum is of those inside, an average
// divides by how many they are.
#include "delegate_native/ops/pool2d.h"

#include <algorithm>

#include "delegate_native/base/status.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/grid.h"
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
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(SetPadding(params->padding, &attributes));
  attributes.SetInts("filter", {params->filter_height, params->filter_width});
  attributes.SetInts("stride", {params->stride_height, params->stride_width});
  const int builtin = importer->builtin();
  const char* op = builtin == kTfLiteBuiltinMaxPool2d  ? "max_pool2d"
                   : builtin == kTfLiteBuiltinL2Pool2d ? "l2_pool2d"
                                                       : "average_pool2d";
  return importer->AddNode(op, {src}, std::move(attributes), params->activation);
}

// Whether the only window holds the whole image.
bool CoversImage(const Window& window, const Shape& in) {
  return window.out_h == 1 && window.out_w == 1 && window.kernel_y - window.pad_top >= in.h &&
         window.kernel_x - window.pad_left >= in.w;
}

// Two slices at once, for finding the window is half of the work.
constexpr const char* kRow = QUADRA_TEXT(R"(
  int y0 = y * stride_y - before_y;
  int y1 = min(y0 + filter_y, src_h);
  y0 = max(y0, 0);
  int s0 = s * 2;
  int s1 = min(s0 + 1, dst_s * dst_b - 1);
)");

constexpr const char* kMaxPixel = QUADRA_TEXT(R"(
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
)");

constexpr const char* kAveragePixel = QUADRA_TEXT(R"(
    int x0 = x * stride_x - before_x;
    int x1 = min(x0 + filter_x, src_w);
    x0 = max(x0, 0);
    sum4_t v0 = vec4(0.0f);
    sum4_t v1 = vec4(0.0f);
for (int from_y = y0; from_y < y1; ++from_y) {
for (int from_x = x0; from_x < x1; ++from_x) {
$for(i, 2)
$if(squares)
sum4_t c$i = read_src(from_x, from_y, s$i);
v$i += c$i * c$i;
$end
$if(!squares) v$i += read_src(from_x, from_y, s$i);
$end
}
}
sum4_t count = vec4(float((y1 - y0) * (x1 - x0)));
$for(i, 2) if ($i == 0 || s1 > s0) { write_dst(${squares:v$i / count,sqrt(v$i / count)}, x, y, s$i); }
)");

// The window along some axes, one pixel along the others.
Window Along(Window window, bool along_y, bool along_x) {
  if (!along_y) window.kernel_y = window.stride_y = 1, window.pad_top = 0;
  if (!along_x) window.kernel_x = window.stride_x = 1, window.pad_left = 0;
  return window;
}

int64_t TripsOf(const Window& window, const Shape& in) {
  return int64_t{std::min(window.kernel_y, in.h)} * (std::min(window.kernel_x, in.w) + 1);
}

void AddPool(const KernelContext& context, const std::string& op, const Window& window, int from,
             const Shape& in, int to, const Shape& out, KernelList* list) {
  KernelDesc& desc = list->Add(op.c_str());
  desc.Read("src", from);
  desc.Write("dst", to);
  AddPoolNumbers(window, &desc);
  desc.trips = TripsOf(window, in);
  const std::string pixel =
      Text(op == "max_pool2d" ? kMaxPixel : kAveragePixel).Set("squares", op == "l2_pool2d");
  LoopOverSlices(context, out, 2, kRow, pixel.c_str(), &desc);
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const int src = node.inputs[0], dst = node.outputs[0];
  const Shape &in = graph.shape(src), &out = graph.shape(dst);
  Window window;
  QUADRA_RETURN_IF_ERROR(ResolvePool(node, in, &window));
  if (node.op == "average_pool2d" && CoversImage(window, in)) {
    AddMeanKernels(context, src, in, dst, out, /*chunk=*/7, list);
    return Status();
  }
  if (TripsOf(window, in) <= context.gpu->most_trips()) {
    AddPool(context, node.op, window, src, in, dst, out, list);
    return Status();
  }
  // Rows first, then columns of their results: the cells inside the image are a rectangle.
  Shape rows = in;
  rows.w = out.w;
  const int between = list->AddScratch(rows);
  AddPool(context, node.op, Along(window, false, true), src, in, between, rows, list);
  AddPool(context, node.op, Along(window, true, false), between, rows, dst, out, list);
  return Status();
}

// Padding that is told (explicit) may move it.
bool HasWindowOfOne(const Node& node) {
  const std::vector<int>& filter = node.attributes.Ints("filter");
  return filter[0] == 1 && filter[1] == 1 && node.attributes.Word("padding") != "explicit";
}

}  // namespace

Status ResolvePool(const Node& node, const Shape& in, Window* window) {
  const std::vector<int>& filter = node.attributes.Ints("filter");
  return ResolveWindow(node.attributes, filter[0], filter[1], in, window);
}

void AddPoolNumbers(const Window& window, KernelDesc* desc) {
  desc->Int("filter_y", window.kernel_y);
  desc->Int("stride_y", window.stride_y);
  desc->Int("before_y", window.pad_top);
  desc->Int("filter_x", window.kernel_x);
  desc->Int("stride_x", window.stride_x);
  desc->Int("before_x", window.pad_left);
}

Status InferPool(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  Window window;
  QUADRA_RETURN_IF_ERROR(ResolvePool(node, in.shape, &window));
  out.shape = {in.shape.b, window.out_h, window.out_w, in.shape.c};
  out.rank = in.rank;
  return Status();
}

extern const Op kMaxPool2dOp, kAveragePool2dOp, kL2Pool2dOp;
const Op kMaxPool2dOp = {
    .name = "max_pool2d",
    .builtins = {kTfLiteBuiltinMaxPool2d, -1},
    .max_version = 3,
    .params_bytes = sizeof(TfLitePoolParams),
    .attributes = QUADRA_TEXT("filter stride padding"),
    .import = Import,
    .shape = InferPool,
    .kernels = Kernels,
    .copies = HasWindowOfOne,
    .moves = true,
};
const Op kAveragePool2dOp = {
    .name = "average_pool2d",
    .builtins = {kTfLiteBuiltinAveragePool2d, -1},
    .max_version = 3,
    .params_bytes = sizeof(TfLitePoolParams),
    .attributes = QUADRA_TEXT("filter stride padding"),
    .import = Import,
    .shape = InferPool,
    .kernels = Kernels,
    .copies = HasWindowOfOne,
};

const Op kL2Pool2dOp = {
    .name = "l2_pool2d",
    .builtins = {kTfLiteBuiltinL2Pool2d, -1},
    .max_version = 1,
    .params_bytes = sizeof(TfLitePoolParams),
    .attributes = QUADRA_TEXT("filter stride padding"),
    .import = Import,
    .shape = InferPool,
    .kernels = Kernels,
};

}  // namespace quadra
