// DILATE and STABLEHLO_PAD: one number between the neighbours along an axis, as often as the axis
// says, and before and after them; negative amounts before and after cut numbers off.
#include "delegate_native/base/status.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/index_map.h"
#include "delegate_native/ops/pad.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

// `before`, `after` and `step`, the distance of neighbours in the result, by axis.
Status ReadDilations(const Importer& importer, int rank, Attributes* attributes) {
  std::vector<int> steps;
  QUADRA_RETURN_IF_ERROR(importer.ConstantInts(1, &steps));
  if (steps.size() != static_cast<size_t>(rank)) {
    return InvalidModel("it has %zu dilations for rank %d", steps.size(), rank);
  }
  const std::vector<int64_t> wide(steps.begin(), steps.end());
  const std::vector<int> none(steps.size());
  attributes->SetInts("before", none);
  attributes->SetInts("after", none);
  return SetAxisNumbers("step", wide.data(), rank, 1, attributes);
}

Status ReadPadding(const Importer& importer, int rank, Attributes* attributes) {
  const TfLiteStablehloPadParams* params;
  QUADRA_RETURN_IF_ERROR(importer.GetParams(&params));
  int64_t steps[kMostStablehloDims];
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t between = params->interior_padding[axis];
    steps[axis] = between < kMostAxisNumber ? between + 1 : between;
  }
  QUADRA_RETURN_IF_ERROR(
      SetAxisNumbers("before", params->edge_padding_low, rank, -kMostAxisNumber, attributes));
  QUADRA_RETURN_IF_ERROR(
      SetAxisNumbers("after", params->edge_padding_high, rank, -kMostAxisNumber, attributes));
  return SetAxisNumbers("step", steps, rank, 1, attributes);
}

Status Import(Importer* importer) {
  const bool dilates = importer->builtin() == kTfLiteBuiltinDilate;
  const int count = dilates ? 3 : 2;
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(count, count));
  QUADRA_RETURN_IF_ERROR(importer->CheckUnscaled(0));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements));
  const int rank = importer->InputRank(0);
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(dilates ? ReadDilations(*importer, rank, &attributes)
                                 : ReadPadding(*importer, rank, &attributes));
  QUADRA_RETURN_IF_ERROR(ReadPadValue(*importer, count - 1, src, &attributes));
  return importer->AddNode("dilate", {src}, std::move(attributes));
}

// The numbers of an axis, counted as Shape does.
struct Spread {
  int before = 0, after = 0, step = 1;

  bool pads() const { return before != 0 || after != 0; }
  int64_t Span(int size) const { return size > 0 ? int64_t{size - 1} * step + 1 : 0; }
  int64_t Length(int size) const { return before + Span(size) + after; }
};
Spread SpreadAlong(const Node& node, int axis) {
  const std::vector<int>& steps = node.attributes.Ints("step");
  const int rank = static_cast<int>(steps.size());
  if (axis < 4 - rank) return {};
  const size_t i = static_cast<size_t>(axis + rank - 4);
  return {node.attributes.Ints("before")[i], node.attributes.Ints("after")[i], steps[i]};
}

// A result of the input's shape is not the input where numbers are cut off and added.
bool Copies(const Node& node) {
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    if (SpreadAlong(node, axis).pads()) return false;
  }
  return true;
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  const size_t rank = static_cast<size_t>(in.rank);
  for (const char* name : {"before", "after", "step"}) {
    if (node.attributes.Ints(name).size() == rank) continue;
    return InvalidModel("its %s has not %zu numbers", name, rank);
  }
  Value& out = graph->value(node.outputs[0]);
  out.rank = in.rank;
  out.shape = in.shape;
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    const int64_t length = SpreadAlong(node, axis).Length(in.shape.axis(axis));
    if (length < 0 || length > INT32_MAX) {
      return Unsupported("its result has %lld elements along one axis",
                         static_cast<long long>(length));
    }
    out.shape.set_axis(axis, static_cast<int>(length));
  }
  return Status();
}

// Places outside the spread numbers are told first: not all languages define a negative number's
// remainder.
constexpr const char* kWithin = QUADRA_TEXT(R"($at -= before_$i;
inside = inside && $at >= 0 && $at < span_$i;
)");
constexpr const char* kBetween = QUADRA_TEXT(R"(inside = inside && $at % step_$i == 0;
$at /= step_$i;
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  IndexMap map;
  map.fill = "value";
  map.keeps_channels = in.c == out.c && !SpreadAlong(node, 3).pads();
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    const Spread spread = SpreadAlong(node, axis);
    const int i = axis - kFirstAxis;
    if (spread.pads()) map.address += Along(axis, i, kWithin);
    if (spread.step != 1) map.address += Along(axis, i, kBetween);
  }
  KernelDesc& desc =
      AddIndexMap(context, "dilate", map, node.inputs[0], in, node.outputs[0], out, list);
  SetPadValue(graph, node, &desc);
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    const Spread spread = SpreadAlong(node, axis);
    const int i = axis - kFirstAxis;
    if (spread.pads()) {
      desc.Int(Format("before_%d", i), spread.before);
      desc.Int(Format("span_%d", i), static_cast<int>(spread.Span(in.axis(axis))));
    }
    if (spread.step != 1) desc.Int(Format("step_%d", i), spread.step);
  }
  return Status();
}

}  // namespace

extern const Op kDilateOp;
const Op kDilateOp = {
    .name = "dilate",
    .builtins = {kTfLiteBuiltinDilate, kTfLiteBuiltinStablehloPad, -1},
    .params_bytes = sizeof(TfLiteStablehloPadParams),
    .attributes = QUADRA_TEXT("before after step"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .max_rank = kMostRank,
    .copies = Copies,
    .moves = true,
};

}  // namespace quadra
