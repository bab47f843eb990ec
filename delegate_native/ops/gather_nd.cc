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

// In both, `m` counts the indices' vectors.
constexpr const char* kGather = QUADRA_TEXT(R"(int m = x;
$for(i, depth) int at_$i = min(max(int_lane(read_indices(m, 0, ${i/4}), ${i%4}), 0), size_$i - 1);
$if(pixels) num4 v = $pixel;
$if(!pixels)
int row = $row;
num4 v = read_src(row, 0, s);
$end
write_dst(v, x, y, s);
)");
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

// Whether a part is a pixel or one of its numbers: it is read where it lies.
bool ReadsPixels(const Value& value, const Places& places) {
  return value.rank > 0 && places.depth >= value.rank - 1;
}

// The pixel that the indices say, or its one number.
std::string Pixel(int rank, int depth) {
  const auto at = [&](int axis) {
    const int i = axis - 4 + rank;
    return i < 0 ? std::string("0") : Format("at_%d", i);
  };
  Text text(depth == rank ? QUADRA_TEXT("num_with_lane(num4(0), 0, num_lane(read_src($x, $y, "
                                        "($batch) * src_s + $c / 4), $c % 4))")
                          : "read_src($x, $y, ($batch) * src_s + s)");
  text.Set("x", at(2)).Set("y", at(1)).Set("batch", Joined(rank - 3));
  return text.Set("c", at(3));
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const bool gathers = node.op == "gather_nd";
  const Value& indices = graph.value(node.inputs[1]);
  Places places;
  QUADRA_RETURN_IF_ERROR(FindPlaces(
      indices, gathers ? SizesOf(graph.value(node.inputs[0])) : node.attributes.Ints("shape"),
      &places));
  Shape whole, parts, vectors;
  whole.w = places.rows, whole.c = places.part;
  parts.w = places.vectors, parts.c = places.part;
  vectors.w = places.vectors, vectors.c = places.depth;
  const int at = Viewed(context, graph, node.inputs[1], vectors, list);
  const Value& value = graph.value(node.inputs[0]);
  const bool reads_pixels = gathers && ReadsPixels(value, places);
  const int src = reads_pixels
                      ? node.inputs[0]
                      : Viewed(context, graph, node.inputs[0], gathers ? whole : parts, list);
  const Shape& made = gathers ? parts : whole;
  const int to = BeginReshape(graph, node, made, list);
  KernelDesc& desc = list->Add(node.op.c_str());
  desc.Read("src", src);
  desc.Read("indices", at);
  desc.Write("dst", to);
  for (int i = 0; i < places.depth; ++i) {
    desc.Int(Format("size_%d", i), places.sizes[static_cast<size_t>(i)]);
  }
  if (!gathers) {
    desc.trips = places.vectors;
    desc.Int("vectors", places.vectors);
  }
  Text text(gathers ? kGather : kScatter);
  text.Set("depth", places.depth).Set("row", Joined(places.depth)).Set("pixels", reads_pixels);
  if (reads_pixels) text.Set("pixel", Pixel(value.rank, places.depth));
  const std::string body = text;
  LoopOverResults(context, made, "", body.c_str(), &desc);
  FinishReshape(context, graph, node, to, made, list);
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
    .kernels = Kernels,
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
    .kernels = Kernels,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .size_input = 2,
};

}  // namespace quadra
