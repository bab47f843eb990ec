// STABLEHLO_SCATTER: a tensor, with windows of updates put into it from computed places on, or
// added to it, multiplied, or the larger or smaller of both. Each axis of the updates is one of a
// window or counts the vectors of indices; each axis of the tensor has a window's axis, or windows
// of one. What lies outside is left out, as on the CPU; where updates meet, they come in their
// order. Each result looks at all vectors: there is no order among work-items.
#include <algorithm>

#include "delegate_native/base/status.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/reshape.h"
#include "delegate_native/ops/subgraph.h"
#include "delegate_native/tflite/importer.h"
#include "delegate_native/tflite/quantization.h"
#include "delegate_native/tflite/tensor_info.h"

namespace quadra {
namespace {

// What becomes of a number v and its update u, both of floats or ints; and which update leaves v as
// it is.
struct Combination {
  int builtin;  // the only node of the subgraph that says it; -1: there is none (ADD is 0)
  const char* name;
  const char* text;
  const char* int_text;  // null: the same
  const char* neutral;
};
const Combination kCombinations[] = {
    {-1, "put", "v = u;", nullptr, "v"},
    {kTfLiteBuiltinStablehloAdd, "add", "v += u;", nullptr, "num4(0)"},
    {kTfLiteBuiltinStablehloMultiply, "mul", "v *= u;", nullptr, "num4(1)"},
    {kTfLiteBuiltinStablehloMaximum, "max", "v = larger(u, v);", "v = max(v, u);", "v"},
    {kTfLiteBuiltinStablehloMinimum, "min", "v = smaller(u, v);", "v = min(v, u);", "v"},
};

Status FindCombination(const Importer& importer, int index, const Combination** found) {
  std::vector<const TfLiteContext*> outer = importer.known()->subgraphs;
  outer.push_back(importer.context());
  const Subgraph subgraph(importer.context(), index, outer);
  if (!subgraph.ok()) return InvalidModel("its computation, subgraph %d, is none", index);
  ModelNodes model;
  QUADRA_RETURN_IF_ERROR(ReadCalled(subgraph.context(), &model));
  const int nodes = static_cast<int>(model.entries.size());
  const int builtin = nodes == 0 ? -1 : model.entries[0].registration->builtin_code;
  for (const Combination& one : kCombinations) {
    if (nodes > 1 || one.builtin != builtin) continue;
    *found = &one;
    return Status();
  }
  return Unsupported(
      "its computation has %d nodes; the update itself, or one STABLEHLO_ADD, MULTIPLY, MAXIMUM or "
      "MINIMUM are supported",
      nodes);
}

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

// Numbers that the CPU puts, adds or multiplies as they are.
Status CheckNumbers(const Importer& importer) {
  for (int input : {0, 2}) {
    if (!importer.HasInput(input) || !IsQuantized(importer.InputTensor(input))) continue;
    return Unsupported("'%s' holds integers with a scale, which the CPU takes as plain integers",
                       NameOf(importer.InputTensor(input)));
  }
  return Status();
}

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 3));
  const TfLiteStablehloScatterParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  QUADRA_RETURN_IF_ERROR(CheckNumbers(*importer));
  const Combination* combination;
  QUADRA_RETURN_IF_ERROR(
      FindCombination(*importer, params->update_computation_subgraph_index, &combination));
  const int rank = importer->InputRank(0), updates_rank = importer->InputRank(2);
  if (rank < 1 || rank > 4 || updates_rank > 4) {
    return Unsupported("it puts rank %d into rank %d; 1 to 4 are supported", updates_rank, rank);
  }
  Attributes attributes;
  attributes.SetWord("combines", combination->name);
  QUADRA_RETURN_IF_ERROR(ReadWindows(*params, rank, updates_rank, &attributes));
  if (combination->builtin < 0 && !ComesByVectors(attributes, updates_rank)) {
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
      combination->builtin < 0 ? kFloats | kInts | kNarrowInts : kFloats | kInts;
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
int batch = s / dst_s;
int first = (s - batch * dst_s) * 4;
for (int m = 0; m < vectors; ++m) {
${starts}if ($inside) {
$if(whole) num4 u = read_updates($x, $y, ($b) * updates_s + s - batch * dst_s);
$if(!whole)
num4 u = $neutral;
for (int i = 0; i < 4; ++i) {
int c = first + i$begin;
if (c >= 0 && c < size_c) { u = num_with_lane(u, i, num_lane(read_updates($x, $y, ($b) * updates_s + ($c) / 4), ($c) % 4)); }
}
$end
$combine
}
}
write_dst(v, x, y, s);
)");

// Where a window begins along an axis: bounded, so that differences to places have 32 bits.
constexpr const char* kStart = QUADRA_TEXT(
    "int $start = clamp(int_lane(read_indices(m, 0, ${i/4}), ${i%4}), -1073741824, 1073741824);\n");

// The text of a node: where its updates are read, and which of them.
class Writer {
 public:
  Writer(const Graph& graph, const Node& node, KernelDesc* desc)
      : whole_(graph.value(node.inputs[0])),
        updates_(graph.value(node.inputs[2])),
        windows_(node.attributes.Ints("windows")),
        indices_(node.attributes.Ints("indices")),
        desc_(*desc) {
    for (std::string& place : places_) place = "0";
  }

  // The vectors' axes of the updates: places that follow from the vector's number.
  void AddVectors(const std::vector<int>& axes) {
    std::string rest = "m";
    for (size_t i = axes.size(); i-- > 0;) {
      const std::string size = Format("count_%zu", i);
      desc_.Int(size, SizeOf(updates_, axes[i]));
      PlaceOf(axes[i]) = i > 0 ? Format("%s %% %s", rest.c_str(), size.c_str()) : rest;
      rest += " / " + size;
    }
  }
  // The axes of the tensor: where the result lies in the window.
  void AddWindows() {
    const char* const results[] = {"batch", "y", "x", "c"};
    for (int axis = 0; axis < whole_.rank; ++axis) {
      const int window = windows_[static_cast<size_t>(axis)];
      const int index = indices_[static_cast<size_t>(axis)];
      const int size = window < 0 ? 1 : SizeOf(updates_, window);
      const int at = 4 - whole_.rank + axis;
      std::string place = results[at];
      const std::string start = Format("at_%d", axis);
      if (index >= 0) {
        starts_ += Text(kStart).Set("start", start).Set("i", index).str();
        if (at < 3) place += " - " + start;
      }
      const bool covers = index < 0 && size == SizeOf(whole_, axis);
      if (at == 3) {
        reads_slices_ = covers && window == updates_.rank - 1;
        if (index >= 0) begin_ = " - " + start;
        if (!reads_slices_) desc_.Int("size_c", size);
      } else if (!covers) {
        const std::string name = Format("size_%d", axis);
        desc_.Int(name, size);
        if (!inside_.empty()) inside_ += " && ";
        inside_ += Format("%s >= 0 && %s < %s", place.c_str(), place.c_str(), name.c_str());
      }
      if (window >= 0) PlaceOf(window) = place;
    }
  }
  std::string Body(const Combination& combination) const {
    const bool is_int = !IsFloat(whole_.element);
    Text text(kBody);
    text.Set("number", is_int ? "num4" : "sum4_t");  // many numbers may be added
    text.Set("starts", starts_).Set("inside", inside_.empty() ? "true" : inside_);
    text.Set("whole", reads_slices_).Set("neutral", combination.neutral).Set("begin", begin_);
    text.Set("b", places_[0]).Set("y", places_[1]).Set("x", places_[2]).Set("c", places_[3]);
    text.Set("combine", is_int && combination.int_text ? combination.int_text : combination.text);
    return text;
  }
  bool reads_slices() const { return reads_slices_; }

 private:
  std::string& PlaceOf(int axis) { return places_[4 - updates_.rank + axis]; }

  const Value& whole_;
  const Value& updates_;
  const std::vector<int>& windows_;
  const std::vector<int>& indices_;
  KernelDesc& desc_;
  std::string places_[4];  // in the updates: of b, y, x and c
  std::string starts_, inside_, begin_;
  bool reads_slices_ = false;
};

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const int depth = node.attributes.Int("depth", 0);
  const std::vector<int> axes = VectorAxes(node, graph.value(node.inputs[2]));
  int vectors = 1;
  for (int axis : axes) vectors *= SizeOf(graph.value(node.inputs[2]), axis);
  Shape seen;
  seen.w = vectors, seen.c = depth;
  const int indices = Viewed(context, graph, node.inputs[1], seen, list);
  KernelDesc& desc = list->Add("scatter");
  desc.Read("src", node.inputs[0]);
  desc.Read("indices", indices);
  desc.Read("updates", node.inputs[2]);
  desc.Write("dst", node.outputs[0]);
  desc.Int("vectors", vectors);
  Writer writer(graph, node, &desc);
  writer.AddVectors(axes);
  writer.AddWindows();
  desc.trips = int64_t{vectors} * (writer.reads_slices() ? 1 : 5);
  for (const Combination& one : kCombinations) {
    if (node.attributes.Word("combines") != one.name) continue;
    const std::string body = writer.Body(one);
    LoopOverResults(context, graph.shape(node.outputs[0]), "", body.c_str(), &desc);
    return Status();
  }
  return InvalidModel("it combines by %s", node.attributes.Word("combines").c_str());
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
