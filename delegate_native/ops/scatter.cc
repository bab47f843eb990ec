// STABLEHLO_SCATTER: a tensor, with windows of updates put into it from computed places on, or
// added to it, multiplied, or the larger or smaller of both. Each axis of the updates is one of a
// window or counts the vectors of indices; each axis of the tensor has a window's axis, or windows
// of one. What lies outside is left out, as on the CPU; where updates meet, they come in their
// order. Each result looks at all vectors: there is no order among work-items.
#include <algorithm>

#include "delegate_native/base/status.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/combination.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/reshape.h"
#include "delegate_native/tflite/importer.h"
#include "delegate_native/tflite/tensor_info.h"

namespace quadra {
namespace {

// Axes that a list of the parameters names: each once, below `end`, and `sorted` perhaps.
Status ReadList(const int64_t* list, int count, int end, bool sorted, std::vector<int>* axes) {
  if (count < 0 || count > end) return InvalidModel("it names %d of %d axes", count, end);
  unsigned seen = 0;
  for (int i = 0; i < count; ++i) {
    const bool falls = sorted && i > 0 && list[i] <= list[i - 1];
    if (list[i] < 0 || list[i] >= end || (seen >> list[i] & 1) || falls) {
      return InvalidModel("axis %lld of %d is out of place", static_cast<long long>(list[i]), end);
    }
    seen |= 1u << list[i];
    axes->push_back(static_cast<int>(list[i]));
  }
  return Status();
}

// Attributes, a number for each axis of the tensor: `windows`, which axis of the updates is its
// window's, and `indices`, which number of a vector says where that begins; -1: none.
Status ReadWindows(const TfLiteStablehloScatterParams& params, int rank, int updates_rank,
                   Attributes* attributes) {
  std::vector<int> windows, inserted, indexed;
  QUADRA_RETURN_IF_ERROR(ReadList(params.update_window_dims, params.num_update_window_dims,
                                  updates_rank, /*sorted=*/true, &windows));
  QUADRA_RETURN_IF_ERROR(ReadList(params.inserted_window_dims, params.num_inserted_window_dims,
                                  rank, /*sorted=*/true, &inserted));
  QUADRA_RETURN_IF_ERROR(ReadList(params.scatter_dims_to_operand_dims,
                                  params.num_scatter_dims_to_operand_dims, rank, /*sorted=*/false,
                                  &indexed));
  if (windows.size() + inserted.size() != static_cast<size_t>(rank)) {
    return InvalidModel("its windows have %zu axes of %d", windows.size() + inserted.size(), rank);
  }
  std::vector<int> window_of(static_cast<size_t>(rank), 0), index_of(window_of.size(), -1);
  for (int axis : inserted) window_of[static_cast<size_t>(axis)] = -1;
  size_t next = 0;
  for (int& window : window_of) {
    if (window == 0) window = windows[next++];
  }
  for (size_t i = 0; i < indexed.size(); ++i) {
    index_of[static_cast<size_t>(indexed[i])] = static_cast<int>(i);
  }
  attributes->SetInts("windows", window_of);
  attributes->SetInts("indices", index_of);
  attributes->SetInt("depth", static_cast<int>(indexed.size()));
  return Status();
}

// Numbers of windows that meet come in the order of the updates, which is the vectors' where no
// axis along which windows begin at different places lies before one of vectors.
bool ComesByVectors(const Attributes& attributes, int updates_rank) {
  const std::vector<int>& windows = attributes.Ints("windows");
  const std::vector<int>& indices = attributes.Ints("indices");
  for (size_t axis = 0; axis < windows.size(); ++axis) {
    if (windows[axis] < 0 || indices[axis] < 0) continue;
    for (int later = windows[axis] + 1; later < updates_rank; ++later) {
      if (std::find(windows.begin(), windows.end(), later) == windows.end()) return false;
    }
  }
  return true;
}

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 3));
  const TfLiteStablehloScatterParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  for (int input : {0, 2}) QUADRA_RETURN_IF_ERROR(importer->CheckUnscaled(input));
  Combination combination;
  QUADRA_RETURN_IF_ERROR(
      ReadCombination(*importer, params->update_computation_subgraph_index, &combination));
  const int rank = importer->InputRank(0), updates_rank = importer->InputRank(2);
  if (rank < 1 || rank > 4 || updates_rank > 4) {
    return Unsupported("it puts rank %d into rank %d; 1 to 4 are supported", updates_rank, rank);
  }
  Attributes attributes;
  attributes.SetWord("combines", CombiningOf(combination).name);
  QUADRA_RETURN_IF_ERROR(ReadWindows(*params, rank, updates_rank, &attributes));
  if (combination == Combination::kSecond && !ComesByVectors(attributes, updates_rank)) {
    return Unsupported("which of its updates at one place is the last depends on the windows");
  }
  // Behind the last axis: each index is a vector of one.
  const int64_t along = params->index_vector_dim, last = importer->InputRank(1) - 1;
  if (along != last && along != last + 1) {
    return Unsupported("its vectors of indices lie along axis %lld; the last one is supported",
                       static_cast<long long>(along));
  }
  attributes.SetInt("single", along != last);
  std::vector<ValueId> values(3);
  const Elements numbers =
      combination == Combination::kSecond ? kFloats | kInts | kNarrowInts : kFloats | kInts;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &values[0], numbers));
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &values[1], kInts | Only(Element::kInt64)));
  QUADRA_RETURN_IF_ERROR(importer->Operand(2, &values[2], numbers));
  QUADRA_RETURN_IF_ERROR(importer->CheckAlike({values[0], values[2]}));
  return importer->AddNode("scatter", std::move(values), std::move(attributes));
}

// The numbers of an axis of the model, as the graph counts it.
int SizeOf(const Value& value, int axis) { return value.shape.axis(4 - value.rank + axis); }

// The axes of the updates that count the vectors.
std::vector<int> VectorAxes(const Node& node, const Value& updates) {
  std::vector<int> axes;
  for (int axis = 0; axis < updates.rank; ++axis) {
    bool is_window = false;
    for (int window : node.attributes.Ints("windows")) is_window |= window == axis;
    if (!is_window) axes.push_back(axis);
  }
  return axes;
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& whole = graph->value(node.inputs[0]);
  const Value& indices = graph->value(node.inputs[1]);
  const Value& updates = graph->value(node.inputs[2]);
  const std::vector<int>& windows = node.attributes.Ints("windows");
  const int depth = node.attributes.Int("depth", 0);
  const bool single = node.attributes.Int("single", 0) != 0;
  const std::vector<int> vectors = VectorAxes(node, updates);
  bool fits = static_cast<int>(windows.size()) == whole.rank &&
              static_cast<int>(vectors.size()) == indices.rank - (single ? 0 : 1);
  for (int axis = 0; fits && axis < whole.rank; ++axis) {
    const int window = windows[static_cast<size_t>(axis)];
    fits = window < updates.rank && (window < 0 || SizeOf(updates, window) <= SizeOf(whole, axis));
  }
  for (size_t i = 0; fits && i < vectors.size(); ++i) {
    fits = SizeOf(indices, static_cast<int>(i)) == SizeOf(updates, vectors[i]);
  }
  if (!fits || depth != (single ? 1 : indices.shape.c)) {
    return InvalidModel("updates %s at %s do not fit into %s", ToString(updates.shape).c_str(),
                        ToString(indices.shape).c_str(), ToString(whole.shape).c_str());
  }
  return SameShape(graph, node);
}

constexpr const char* kBody = QUADRA_TEXT(R"($number v = read_src(x, y, s);
int b = s / dst_s;
int first = (s - b * dst_s) * 4;
for (int m = 0; m < vectors; ++m) {
int rest = m;
$for(i, 4)
int in_${i:b,y,x,c} = 0;
int at_${i:b,y,x,c} = 0;
$end
bool inside = true;
${places}if (inside) {
$if(whole) num4 u = read_updates(in_x, in_y, in_b * updates_s + s - b * dst_s);
$if(!whole)
num4 u = $neutral;
for (int i = 0; i < 4; ++i) {
int c = first + i - at_c;
if (c >= 0 && c < size_c) {
${channel}u = num_with_lane(u, i, num_lane(read_updates(in_x, in_y, in_b * updates_s + in_c / 4), in_c % 4));
}
}
$end
$combine
}
}
write_dst(v, x, y, s);
)");
// An axis of the updates, `in_$to`, that counts vectors.
constexpr const char* kVector = QUADRA_TEXT("in_$to = rest % count_$to; rest /= count_$to;\n");
// An axis of the tensor: where the window begins there, bounded, so that differences to places have
// 32 bits; and where in the window a result lies.
constexpr const char* kWindow = QUADRA_TEXT(R"(
$if(indexed) at_$axis = clamp(int_lane(read_indices(m, 0, ${i/4}), ${i%4}), -1073741824, 1073741824);
$if(!channels)
$if(window) in_$to = $axis - at_$axis;
inside = inside && $axis - at_$axis >= 0 && $axis - at_$axis < size_$axis;
$end
)");

const char* const kAxes[] = {"b", "y", "x", "c"};
const char* NameOfAxis(const Value& value, int axis) { return kAxes[4 - value.rank + axis]; }

// Lines that find a result's place in the updates: of the vector m, and in its window.
std::string FindPlaces(const Graph& graph, const Node& node, const std::vector<int>& vectors,
                       KernelDesc* desc) {
  const Value& whole = graph.value(node.inputs[0]);
  const Value& updates = graph.value(node.inputs[2]);
  std::string places;
  for (size_t i = vectors.size(); i-- > 0;) {
    const char* to = NameOfAxis(updates, vectors[i]);
    desc->Int(std::string("count_") + to, SizeOf(updates, vectors[i]));
    places += Text(kVector).Set("to", to).str();
  }
  for (int axis = 0; axis < whole.rank; ++axis) {
    const int window = node.attributes.Ints("windows")[static_cast<size_t>(axis)];
    const int index = node.attributes.Ints("indices")[static_cast<size_t>(axis)];
    const char* name = NameOfAxis(whole, axis);
    desc->Int(std::string("size_") + name, window < 0 ? 1 : SizeOf(updates, window));
    Text text(kWindow);
    text.Set("axis", name).Set("channels", axis == whole.rank - 1).Set("i", index);
    text.Set("indexed", index >= 0).Set("window", window >= 0);
    places += text.Set("to", window < 0 ? "" : NameOfAxis(updates, window)).str();
  }
  return places;
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& whole = graph.value(node.inputs[0]);
  const Value& updates = graph.value(node.inputs[2]);
  const std::vector<int> axes = VectorAxes(node, updates);
  Shape seen;
  seen.w = 1;
  for (int axis : axes) seen.w *= SizeOf(updates, axis);
  seen.c = node.attributes.Int("depth", 0);
  const int indices = Viewed(context, graph, node.inputs[1], seen, list);
  KernelDesc& desc = list->Add("scatter");
  desc.Read("src", node.inputs[0]);
  desc.Read("indices", indices);
  desc.Read("updates", node.inputs[2]);
  desc.Write("dst", node.outputs[0]);
  desc.Int("vectors", seen.w);
  const int window = node.attributes.Ints("windows").back();
  // Slices of the updates are those of the result.
  const bool reads_slices = node.attributes.Ints("indices").back() < 0 &&
                            window == updates.rank - 1 && updates.shape.c == whole.shape.c;
  desc.trips = int64_t{seen.w} * (reads_slices ? 1 : 5);
  const std::string channel = window < 0 ? "" : Format("in_%s = c;\n", NameOfAxis(updates, window));
  const bool is_int = !IsFloat(whole.element);
  Text text(kBody);
  text.Set("number", is_int ? "num4" : "sum4_t");  // many numbers may be added
  text.Set("places", FindPlaces(graph, node, axes, &desc)).Set("channel", channel);
  text.Set("whole", reads_slices);
  const Combining* combining = FindCombining(node.attributes.Word("combines"));
  if (!combining) {
    return InvalidModel("it combines by %s", node.attributes.Word("combines").c_str());
  }
  text.Set("neutral", combining->neutral);
  text.Set("combine", is_int ? combining->int_text : combining->text);
  const std::string body = text;
  LoopOverResults(context, graph.shape(node.outputs[0]), "", body.c_str(), &desc);
  return Status();
}

}  // namespace

extern const Op kScatterOp;
const Op kScatterOp = {
    .name = "scatter",
    .builtins = {kTfLiteBuiltinStablehloScatter, -1},
    .max_version = 1,
    .params_bytes = sizeof(TfLiteStablehloScatterParams),
    .attributes = QUADRA_TEXT("combines windows indices depth single"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .asks_for_rank = true,
    .place_input = 1,
};

}  // namespace quadra
