// GATHER_ND: parts of a tensor by vectors of indices along its first axes. SCATTER_ND: such parts
// put into zeros, and added where they meet. An index that is out of range is taken for the
// nearest; the CPU fails there.
#include <algorithm>

#include "delegate_native/base/status.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/folding.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/index_map.h"
#include "delegate_native/ops/reshape.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  std::vector<ValueId> values(2);
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &values[0], kAllElements));
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &values[1], kInts | Only(Element::kInt64)));
  return importer->AddNode("gather_nd", std::move(values), {});
}

Status ImportScatter(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 3));
  std::vector<ValueId> values(2);
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &values[0], kFloats | kInts | kNarrowInts));
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &values[1], kInts));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(importer->Sizes(2, "shape", &attributes));
  return importer->AddNode("scatter_nd", std::move(values), std::move(attributes));
}

// The tensor that indices point into has `sizes`; `depth` of its axes are indexed, the rest are a
// part. All three tensors are seen as rows of parts.
struct Places {
  std::vector<int> sizes;
  int depth = 0;
  int rows = 1, part = 1, vectors = 1;
};

Status FindPlaces(const Value& indices, std::vector<int> sizes, Places* places) {
  places->sizes = std::move(sizes);
  places->depth = indices.shape.c;
  if (indices.rank < 1 || places->depth > static_cast<int>(places->sizes.size())) {
    return InvalidModel("vectors of %d index %zu axes", places->depth, places->sizes.size());
  }
  int64_t rows = 1, part = 1;
  for (int i = 0; i < static_cast<int>(places->sizes.size()); ++i) {
    const int n = places->sizes[static_cast<size_t>(i)];
    (i < places->depth ? rows : part) *= n;
    if (n < 1 || rows > INT32_MAX || part > INT32_MAX) {
      return Unsupported("it indexes an axis of %d", n);
    }
  }
  places->rows = static_cast<int>(rows);
  places->part = static_cast<int>(part);
  places->vectors = static_cast<int>(indices.shape.elements() / indices.shape.c);
  return Status();
}

std::vector<int> SizesOf(const Value& value) {
  std::vector<int> sizes;
  for (int axis = 4 - value.rank; axis < 4; ++axis) sizes.push_back(value.shape.axis(axis));
  return sizes;
}

// The vectors' axes, then those of a part.
std::vector<int> GatheredSizes(const Value& indices, const Places& places) {
  std::vector<int> sizes = SizesOf(indices);
  sizes.pop_back();
  sizes.insert(sizes.end(), places.sizes.begin() + places.depth, places.sizes.end());
  return sizes;
}

Status InferShape(Graph* graph, const Node& node) {
  Places places;
  const Value& indices = graph->value(node.inputs[1]);
  QUADRA_RETURN_IF_ERROR(FindPlaces(indices, SizesOf(graph->value(node.inputs[0])), &places));
  return SetDims(GatheredSizes(indices, places), &graph->value(node.outputs[0]));
}

Status InferScattered(Graph* graph, const Node& node) {
  Places places;
  const Value& indices = graph->value(node.inputs[1]);
  QUADRA_RETURN_IF_ERROR(FindPlaces(indices, node.attributes.Ints("shape"), &places));
  if (GatheredSizes(indices, places) != SizesOf(graph->value(node.inputs[0]))) {
    return InvalidModel("its updates have the shape %s",
                        ToString(graph->shape(node.inputs[0])).c_str());
  }
  return SetDims(places.sizes, &graph->value(node.outputs[0]));
}

// The vector of a number of the result, which has the vectors' axes first, leads to the source's.
constexpr const char* kGather = QUADRA_TEXT(R"(int vector_x = $x;
int vector_y = $y;
int vector_s = ($batch) * indices_s;
$for(i, depth)
int from_$i = min(max(int_lane(read_indices(vector_x, vector_y, vector_s + ${i/4}), ${i%4}), 0), size_$i - 1);
$end
)");
// `m` counts the indices' vectors.
constexpr const char* kScatter = QUADRA_TEXT(R"(num4 v = num4(0);
for (int m = 0; m < vectors; ++m) {
$for(i, depth) int at_$i = min(max(int_lane(read_indices(m, 0, ${i/4}), ${i%4}), 0), size_$i - 1);
int row = $row;
if (row == x) { v += read_src(m, 0, s); }
}
write_dst(v, x, y, s);
)");

// The place along the first so many axes, where they are one.
std::string Joined(int axes) {
  std::string place = "0";
  for (int i = 0; i < axes; ++i) {
    place = Text(QUADRA_TEXT("($place) * size_$i + at_$i")).Set("place", place).Set("i", i);
  }
  return place;
}

// The result's place along an axis of what has `rank` axes, the first `most` of which are those
// of the result.
std::string PlaceOf(int axis, int rank, int most) {
  const int i = axis - 4 + rank;
  return i < 0 || i >= most ? "0" : Format("to_%d", i);
}

Status GatherKernels(const KernelContext& context, const Graph& graph, const Node& node,
                     KernelList* list) {
  const Value &src = graph.value(node.inputs[0]), &indices = graph.value(node.inputs[1]);
  const Value& dst = graph.value(node.outputs[0]);
  Places places;
  QUADRA_RETURN_IF_ERROR(FindPlaces(indices, SizesOf(src), &places));
  const int vectors = indices.rank - 1;  // axes of the result that count them
  std::string address;
  for (int i = 0; i < dst.rank; ++i) {
    address += Format("int to_%d = %s;\n", i, PlaceName(4 - dst.rank + i));
  }
  // All axes of the vectors, the last one of which counts the depth.
  const auto at = [&](int axis) { return PlaceOf(axis, indices.rank, vectors); };
  std::string batch = "0";
  for (int axis = kFirstAxis; axis < 1; ++axis) {
    const bool first = 4 - axis >= indices.rank;
    batch =
        first ? at(axis) : Format("(%s) * batches_%d + %s", batch.c_str(), -axis, at(axis).c_str());
  }
  Text gather(kGather);
  gather.Set("depth", places.depth).Set("x", at(2)).Set("y", at(1)).Set("batch", batch);
  address += gather.str();
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    const int i = axis - 4 + src.rank;
    const std::string from = i < 0              ? "0"
                             : i < places.depth ? Format("from_%d", i)
                                                : Format("to_%d", vectors + i - places.depth);
    if (axis < 3 || i < places.depth)
      address += Format("%s = %s;\n", PlaceName(axis), from.c_str());
  }
  IndexMap map;
  map.address = address;
  map.keeps_channels = places.depth < src.rank;
  KernelDesc& desc = AddIndexMap(context, "gather_nd", map, node.inputs[0], src.shape,
                                 node.outputs[0], dst.shape, list);
  desc.Read("indices", node.inputs[1]);
  for (int axis = kFirstAxis; axis < 1; ++axis) {
    if (4 - axis < indices.rank) desc.Int(Format("batches_%d", -axis), indices.shape.axis(axis));
  }
  for (int i = 0; i < places.depth; ++i) {
    desc.Int(Format("size_%d", i), places.sizes[static_cast<size_t>(i)]);
  }
  return Status();
}

Status ScatterKernels(const KernelContext& context, const Graph& graph, const Node& node,
                      KernelList* list) {
  Places places;
  QUADRA_RETURN_IF_ERROR(
      FindPlaces(graph.value(node.inputs[1]), node.attributes.Ints("shape"), &places));
  Shape whole, parts, vectors;
  whole.w = places.rows, whole.c = places.part;
  parts.w = places.vectors, parts.c = places.part;
  vectors.w = places.vectors, vectors.c = places.depth;
  const int at = Viewed(context, graph, node.inputs[1], vectors, list);
  const int src = Viewed(context, graph, node.inputs[0], parts, list);
  const int to = BeginReshape(graph, node, whole, list);
  KernelDesc& desc = list->Add("scatter_nd");
  desc.Read("src", src);
  desc.Read("indices", at);
  desc.Write("dst", to);
  for (int i = 0; i < places.depth; ++i) {
    desc.Int(Format("size_%d", i), places.sizes[static_cast<size_t>(i)]);
  }
  desc.trips = places.vectors;
  desc.Int("vectors", places.vectors);
  Text text(kScatter);
  text.Set("depth", places.depth).Set("row", Joined(places.depth));
  const std::string body = text;
  LoopOverResults(context, whole, "", body.c_str(), &desc);
  FinishReshape(context, graph, node, to, whole, list);
  return Status();
}

ConstantData Fold(const Graph& graph, const Node& node) {
  const Value &value = graph.value(node.inputs[0]), &indices = graph.value(node.inputs[1]);
  Places places;
  if (!IsSmallConstant(graph, node) || !FindPlaces(indices, SizesOf(value), &places).ok()) {
    return nullptr;
  }
  const std::vector<int32_t> at = indices.constant->ints();
  std::vector<int> picked;
  for (size_t i = 0; i < at.size();) {
    int row = 0;
    for (size_t axis = 0; axis < static_cast<size_t>(places.depth); ++axis, ++i) {
      const int size = places.sizes[axis];
      row = row * size + std::min(std::max(at[i], 0), size - 1);
    }
    for (int k = 0; k < places.part; ++k) picked.push_back(row * places.part + k);
  }
  return Picked(*value.constant, picked);
}

}  // namespace

extern const Op kGatherNdOp;
const Op kGatherNdOp = {
    .name = "gather_nd",
    .builtins = {kTfLiteBuiltinGatherNd, -1},
    .max_version = 5,
    .import = Import,
    .shape = InferShape,
    .kernels = GatherKernels,
    .fold = Fold,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .moves = true,
    .place_input = 1,
};

extern const Op kScatterNdOp;
const Op kScatterNdOp = {
    .name = "scatter_nd",
    .builtins = {kTfLiteBuiltinScatterNd, -1},
    .max_version = 1,
    .attributes = QUADRA_TEXT("shape"),
    .import = ImportScatter,
    .shape = InferScattered,
    .kernels = ScatterKernels,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .size_input = 2,
};

}  // namespace quadra
