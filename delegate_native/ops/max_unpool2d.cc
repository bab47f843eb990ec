// MediaPipe's MaxPoolingWithArgmax2D, a maximum and its place in the window, and MaxUnpooling2D,
// which puts such maxima back between zeros. A place is row * width + column of the window, as a
// float a little above it. Their options are TfLitePoolParams. LiteRT's LiteRtMaxUnpooling2D is
// another op of the same options (TFLite's kernels/perception/max_unpooling_2d.cc): its places are
// int32, (row * width + column) * channels + channel of the result, as max_pool_with_argmax has
// them, and its result is as large as the padding leaves it.
#include <algorithm>

#include "delegate_native/base/texts.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/pool2d.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status ReadParams(const Importer& importer, TfLitePoolParams* params) {
  QUADRA_RETURN_IF_ERROR(importer.CopyCustomOptions(params));
  for (int n :
       {params->stride_height, params->stride_width, params->filter_height, params->filter_width}) {
    // So that places are whole numbers in half, too.
    if (n < 1 || n > 32)
      return Unsupported("its window has a size of %d; 1 to 32 are supported", n);
  }
  return importer.InputRank(0) == 4
             ? Status()
             : InvalidModel("its input has rank %d; pooling is over rank 4", importer.InputRank(0));
}

void SetWindowSizes(const TfLitePoolParams& params, Attributes* attributes) {
  attributes->SetInts("filter", {params.filter_height, params.filter_width});
  attributes->SetInts("stride", {params.stride_height, params.stride_width});
}

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1, 2));
  TfLitePoolParams params;
  QUADRA_RETURN_IF_ERROR(ReadParams(*importer, &params));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(SetPadding(params.padding, &attributes));
  SetWindowSizes(params, &attributes);
  QUADRA_RETURN_IF_ERROR(
      importer->AddNode("max_pool2d", {src}, Attributes(attributes), params.activation));
  return importer->AddNodeFor(1, "max_pool_place", {src}, std::move(attributes));
}

constexpr const char* kPlaces = QUADRA_TEXT(R"(
    int y0 = y * stride_y - before_y;
    int x0 = x * stride_x - before_x;
    int first_y = max(-y0, 0);
    int first_x = max(-x0, 0);
    vec4 most = read_src(x0 + first_x, y0 + first_y, s);
    ivec4 place = ivec4(first_y * filter_x + first_x);
    for (int j = first_y; j < min(filter_y, src_h - y0); ++j) {
      for (int k = first_x; k < min(filter_x, src_w - x0); ++k) {
        vec4 v = read_src(x0 + k, y0 + j, s);
        ivec4 is_more = is_less(most, v);
        most = choose(is_more, v, most);
        place = choose(is_more, ivec4(j * filter_x + k), place);
      }
    }
    write_dst(to_float(place) + vec4(0.1f), x, y, s);
)");

Status PlaceKernels(const KernelContext& context, const Graph& graph, const Node& node,
                    KernelList* list) {
  Window window;
  QUADRA_RETURN_IF_ERROR(ResolvePool(node, graph.shape(node.inputs[0]), &window));
  KernelDesc& desc = list->Add("max_pool_place");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  AddPoolNumbers(window, &desc);
  LoopOverResults(context, graph.shape(node.outputs[0]), "", kPlaces, &desc);
  return Status();
}

Status ImportUnpool(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  TfLitePoolParams params;
  QUADRA_RETURN_IF_ERROR(ReadParams(*importer, &params));
  std::vector<ValueId> values(2);
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &values[0]));
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &values[1]));
  Attributes attributes;
  SetWindowSizes(params, &attributes);
  return importer->AddNode("max_unpool2d", std::move(values), std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  const std::vector<int>& filter = node.attributes.Ints("filter");
  if (graph->shape(node.inputs[1]) != in.shape) {
    return InvalidModel("its places have the shape %s",
                        ToString(graph->shape(node.inputs[1])).c_str());
  }
  out.shape = in.shape;
  if (in.shape.h > INT32_MAX / filter[0] || in.shape.w > INT32_MAX / filter[1]) {
    return Unsupported("its result has more than 2^31 numbers along an axis");
  }
  out.shape.h = in.shape.h * filter[0];
  out.shape.w = in.shape.w * filter[1];
  out.rank = in.rank;
  return Status();
}

// Every maximum whose window holds the pixel is asked whether it was here; the last one stays.
constexpr const char* kUnpool = QUADRA_TEXT(R"(
    vec4 v = vec4(0.0f);
    int at_y = y + before_y;
    int at_x = x + before_x;
    for (int j = max((at_y - filter_y + stride_y) / stride_y, 0); j <= min(at_y / stride_y, src_h - 1); ++j) {
      for (int k = max((at_x - filter_x + stride_x) / stride_x, 0); k <= min(at_x / stride_x, src_w - 1); ++k) {
        int wanted = (at_y - j * stride_y) * filter_x + at_x - k * stride_x;
        ivec4 is_here = is_equal(to_int(read_places(k, j, s)), ivec4(wanted));
        v = choose(is_here, read_src(k, j, s), v);
      }
    }
    write_dst(v, x, y, s);
)");

Status ImportUnpoolAt(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  TfLitePoolParams params;
  QUADRA_RETURN_IF_ERROR(ReadParams(*importer, &params));
  std::vector<ValueId> values(2);
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &values[0]));
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &values[1], Only(Element::kInt32)));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(SetPadding(params.padding, &attributes));
  SetWindowSizes(params, &attributes);
  return importer->AddNode("max_unpool_at", std::move(values), std::move(attributes));
}

Status InferShapeAt(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  if (graph->shape(node.inputs[1]) != in.shape) {
    return InvalidModel("its places have the shape %s",
                        ToString(graph->shape(node.inputs[1])).c_str());
  }
  const std::vector<int>& filter = node.attributes.Ints("filter");
  const std::vector<int>& stride = node.attributes.Ints("stride");
  const bool same = node.attributes.Word("padding") == "same";
  out.shape = in.shape;
  out.rank = in.rank;
  for (size_t i = 0; i < 2; ++i) {
    const int axis = static_cast<int>(i) + 1;
    const int64_t from = in.shape.axis(axis);
    const int64_t size = same ? from * stride[i] : (from - 1) * stride[i] + filter[i];
    if (size > INT32_MAX) {
      return Unsupported("its result has more than 2^31 numbers along an axis");
    }
    out.shape.set_axis(axis, static_cast<int>(size));
  }
  return Status();
}

constexpr const char* kUnpoolAt = QUADRA_TEXT(R"(
    int first = s % dst_s * 4;
    ivec4 wanted = ivec4(first, first + 1, first + 2, first + 3) + ivec4((y * dst_w + x) * dst_c);
    vec4 v = vec4(0.0f);
    int at_y = y + before_y;
    int at_x = x + before_x;
    for (int j = max((at_y - filter_y + stride_y) / stride_y, 0); j <= min(at_y / stride_y, src_h - 1); ++j) {
      for (int k = max((at_x - filter_x + stride_x) / stride_x, 0); k <= min(at_x / stride_x, src_w - 1); ++k) {
        v = choose(is_equal(read_places(k, j, s), wanted), read_src(k, j, s), v);
      }
    }
    write_dst(v, x, y, s);
)");

// The numbers of a kernel that asks every maximum whose window holds the pixel.
void AddUnpool(const KernelContext& context, const Graph& graph, const Node& node, const char* name,
               const char* body, KernelList* list) {
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  const std::vector<int>& filter = node.attributes.Ints("filter");
  const std::vector<int>& stride = node.attributes.Ints("stride");
  const auto before = [](int from, int to, int step, int size) {
    return static_cast<int>(std::max<int64_t>((int64_t{from} - 1) * step + size - to, 0) / 2);
  };
  KernelDesc& desc = list->Add(name);
  desc.Read("src", node.inputs[0]);
  desc.Read("places", node.inputs[1]);
  desc.Write("dst", node.outputs[0]);
  desc.Int("filter_y", filter[0]);
  desc.Int("filter_x", filter[1]);
  desc.Int("stride_y", stride[0]);
  desc.Int("stride_x", stride[1]);
  desc.Int("before_y", before(in.h, out.h, stride[0], filter[0]));
  desc.Int("before_x", before(in.w, out.w, stride[1], filter[1]));
  LoopOverResults(context, out, "", body, &desc);
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  AddUnpool(context, graph, node, "max_unpool2d", kUnpool, list);
  return Status();
}

Status KernelsAt(const KernelContext& context, const Graph& graph, const Node& node,
                 KernelList* list) {
  AddUnpool(context, graph, node, "max_unpool_at", kUnpoolAt, list);
  return Status();
}

}  // namespace

extern const Op kMaxPoolPlaceOp;
const Op kMaxPoolPlaceOp = {
    .name = "max_pool_place",
    .custom = QUADRA_TEXT("MaxPoolingWithArgmax2D"),
    .attributes = QUADRA_TEXT("filter stride padding"),
    .import = Import,
    .shape = InferPool,
    .kernels = PlaceKernels,
};

extern const Op kMaxUnpool2dOp;
const Op kMaxUnpool2dOp = {
    .name = "max_unpool2d",
    .custom = "MaxUnpooling2D",
    .attributes = QUADRA_TEXT("filter stride"),
    .import = ImportUnpool,
    .shape = InferShape,
    .kernels = Kernels,
};

extern const Op kMaxUnpoolAtOp;
const Op kMaxUnpoolAtOp = {
    .name = "max_unpool_at",
    .custom = QUADRA_TEXT("LiteRtMaxUnpooling2D"),
    .attributes = QUADRA_TEXT("filter stride padding"),
    .import = ImportUnpoolAt,
    .shape = InferShapeAt,
    .kernels = KernelsAt,
    .place_input = 1,
};

}  // namespace quadra
