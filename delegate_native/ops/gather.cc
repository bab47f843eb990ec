// GATHER: whole parts of a tensor by their index along an axis, for each place of the leading
// batch_dims axes anew. EMBEDDING_LOOKUP: rows of a table. A computed index that is out of range
// gives the part at the end; the CPU fails there.
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/folding.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/reshape.h"
#include "delegate_native/ops/stored_weights.h"

namespace quadra {
namespace {

Status AddGather(Importer* importer, int data, int indices, int axis, int batch_dims) {
  std::vector<ValueId> values(2);
  QUADRA_RETURN_IF_ERROR(importer->Weights(data, &values[0], kAllElements));
  QUADRA_RETURN_IF_ERROR(importer->Operand(indices, &values[1], kInts | Only(Element::kInt64)));
  const int data_rank = importer->InputRank(data), rank = importer->InputRank(indices);
  if (axis < -data_rank || axis >= data_rank) {
    return InvalidModel("axis %d is out of range for rank %d", axis, data_rank);
  }
  if (axis < 0) axis += data_rank;
  if (batch_dims < 0) batch_dims += rank;
  if (batch_dims < 0 || batch_dims > rank || batch_dims > axis) {
    return InvalidModel("%d batch_dims do not fit axis %d and indices of rank %d", batch_dims, axis,
                        rank);
  }
  Attributes attributes;
  attributes.SetInt("axis", axis);  // from the front
  attributes.SetInt("batch_dims", batch_dims);
  return importer->AddNode("gather", std::move(values), std::move(attributes));
}

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  const TfLiteGatherParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  return AddGather(importer, 0, 1, params->axis, params->batch_dims);
}

Status ImportLookup(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  const TfLiteTensor& table = importer->InputTensor(1);
  const int in_a_byte = table.type == kTfLiteInt4 ? 2 : table.type == kTfLiteInt2 ? 4 : 1;
  const int rank = importer->InputRank(1);
  // The interpreter reads such rows from the byte that they begin in.
  if (rank > 0 && table.dims->data[rank - 1] % in_a_byte != 0) {
    return Unsupported("its rows are no whole bytes");
  }
  return AddGather(importer, 1, 0, 0, 0);
}

// Data, indices and result as four axes: batches, what lies before the axis, the axis, the rest.
struct Views {
  Shape data, indices, out;
};

Status MakeViews(const Graph& graph, const Node& node, Views* views, std::vector<int>* dims) {
  const Value& data = graph.value(node.inputs[0]);
  const Value& indices = graph.value(node.inputs[1]);
  const int axis = node.attributes.Int("axis"), batches = node.attributes.Int("batch_dims");
  views->data = views->indices = views->out = Shape();
  dims->clear();
  const auto grow = [](Shape* shape, int at, int n) { shape->set_axis(at, shape->axis(at) * n); };
  for (int i = 0; i < data.rank; ++i) {
    const int n = data.shape.axis(4 - data.rank + i);
    grow(&views->data, i < batches ? 0 : i < axis ? 1 : i == axis ? 2 : 3, n);
    if (i < axis) dims->push_back(n);
    if (i != axis) continue;
    for (int j = batches; j < indices.rank; ++j) {
      dims->push_back(indices.shape.axis(4 - indices.rank + j));
      grow(&views->indices, 3, dims->back());
    }
  }
  for (int i = axis + 1; i < data.rank; ++i) {
    dims->push_back(data.shape.axis(4 - data.rank + i));
  }
  for (int i = 0; i < batches; ++i) {
    const int n = indices.shape.axis(4 - indices.rank + i);
    if (n != data.shape.axis(4 - data.rank + i)) {
      return InvalidModel("axis %d of its indices is %d, of its data %d", i, n,
                          data.shape.axis(4 - data.rank + i));
    }
    grow(&views->indices, 2, n);
  }
  views->out = views->data;
  views->out.set_axis(2, views->indices.c);
  return Status();
}

Status InferShape(Graph* graph, const Node& node) {
  Views views;
  std::vector<int> dims;
  QUADRA_RETURN_IF_ERROR(MakeViews(*graph, node, &views, &dims));
  if (const ConstantData& indices = graph->value(node.inputs[1]).constant) {
    for (int index : indices->ints()) {
      if (index < 0 || index >= views.data.w) {
        return InvalidModel("its index %d is out of range for an axis of %d", index, views.data.w);
      }
    }
  }
  return SetDims(dims, &graph->value(node.outputs[0]));
}

constexpr const char* kPixel = QUADRA_TEXT(R"(
    int at = int_lane(read_indices(s / dst_s, 0, x / 4), x % 4);
    at = min(max(at, 0), src_w - 1);
    num4 v = read_src(at, y, s);
    write_dst(v, x, y, s);
)");

// The same from a table of integers (ops/stored_weights.h): only rows that are asked for become
// floats.
constexpr const char* kPixelOfIntegers = QUADRA_TEXT(R"(
int at = int_lane(read_indices(0, 0, x / 4), x % 4);
at = min(max(at, 0), rows - 1);
int o = at / lanes, lane = at - o * lanes, word = s * bits / 8;
int q = read_m((o * step + word * (step > 1 ? 1 : blocks)) * lanes + lane) >> (s * bits * 4 % 32);
at = (blocks * words * parts + o) * lanes + lane;
int next = blocks * lanes, k = s * parts / dst_s;
ivec4 v = ivec4(q, q >> bits, q >> 2 * bits, q >> 3 * bits) << (32 - bits) >> (32 - bits);
$if(half)

ivec4 h = ivec4(read_m(at + (k / 2 + 2) * next)), e;
sum4_t f;
$scale$end
$if(!half) sum4_t f = as_float4(ivec4(read_m(at + (k + 2) * next)));
write_dst(to_float(v - read_m(at + next)) * f, x, y, s);
)");

// And of one of halfs.
constexpr const char* kPixelOfHalfs = QUADRA_TEXT(R"(
int at = int_lane(read_indices(0, 0, x / 4), x % 4);
at = min(max(at, 0), rows - 1);
int o = at / lanes, lane = at - o * lanes, quads = lanes / 4;
int first = (o * step + s * (step > 1 ? 1 : blocks)) * lanes + lane / 4;
lane = lane % 4;
sum4_t v = vec4(0.0f);
v.x = sum_lane(read_m(first), lane); v.y = sum_lane(read_m(first + quads), lane);
v.z = sum_lane(read_m(first + quads * 2), lane); v.w = sum_lane(read_m(first + quads * 3), lane);
write_dst(v, x, y, s);
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  Views views;
  std::vector<int> dims;
  QUADRA_RETURN_IF_ERROR(MakeViews(graph, node, &views, &dims));
  const ConstantData& table = graph.value(node.inputs[0]).constant;
  const Table kept = TableOf(context, table, views.data);
  const int data =
      kept == Table::kFloats ? Viewed(context, graph, node.inputs[0], views.data, list) : -1;
  const int indices = Viewed(context, graph, node.inputs[1], views.indices, list);
  const int to = BeginReshape(graph, node, views.out, list);
  KernelDesc& desc = list->Add("gather");
  if (kept == Table::kFloats) desc.Read("src", data);
  else AddTable(context, table, views.data, &desc);
  desc.Read("indices", indices);
  desc.Write("dst", to);
  Text pixel(kept == Table::kHalfs      ? kPixelOfHalfs
             : kept == Table::kIntegers ? kPixelOfIntegers
                                        : kPixel);
  if (kept == Table::kIntegers) {
    pixel.Set("half", HasHalfScales(*table)).Set("scale", kHalfScale).Set("lanes", 4);
  }
  LoopOverResults(context, views.out, "", pixel.str().c_str(), &desc);
  FinishReshape(context, graph, node, to, views.out, list);
  return Status();
}

ConstantData Fold(const Graph& graph, const Node& node) {
  Views views;
  std::vector<int> dims, places;
  if (!IsSmallConstant(graph, node) || !MakeViews(graph, node, &views, &dims).ok()) return nullptr;
  const std::vector<int32_t> indices = graph.value(node.inputs[1]).constant->ints();
  const Shape &data = views.data, &out = views.out;
  for (int row = 0; row < out.b * out.h; ++row) {
    for (int i = 0; i < out.w; ++i) {
      const int at = row / out.h * out.w + i;
      const int index = indices[static_cast<size_t>(at)];
      for (int k = 0; k < out.c; ++k) places.push_back((row * data.w + index) * out.c + k);
    }
  }
  return Picked(*graph.value(node.inputs[0]).constant, places);
}

}  // namespace

extern const Op kGatherOp;
const Op kGatherOp = {
    .name = "gather",
    .builtins = {kTfLiteBuiltinGather, -1},
    .max_version = 7,
    .params_bytes = sizeof(TfLiteGatherParams),
    .attributes = QUADRA_TEXT("axis batch_dims"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .fold = Fold,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .moves = true,
    .place_input = 1,
};

extern const Op kEmbeddingLookupOp;
const Op kEmbeddingLookupOp = {
    .name = "embedding_lookup",
    .builtins = {kTfLiteBuiltinEmbeddingLookup, -1},
    .max_version = 5,
    .import = ImportLookup,
    .moves = true,
};

}  // namespace quadra
