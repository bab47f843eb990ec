// PAD and PADV2: a number before and after every axis, by [rank, 2] of amounts, never negative. The
// number is 0, or PADV2's third input.
#include "delegate_native/ops/pad.h"

#include <utility>

#include "delegate_native/base/status.h"
#include "delegate_native/graph/window.h"
#include "delegate_native/ops/folding.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/index_map.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {

Status ReadPadValue(const Importer& importer, int input, ValueId padded, Attributes* attributes) {
  const bool is_float = IsFloat(importer.graph()->value(padded).element);
  float number = 0;
  int integer = 0;
  if (importer.HasInput(input)) {
    QUADRA_RETURN_IF_ERROR(is_float ? importer.ConstantFloat(input, &number)
                                    : importer.ConstantInt(input, &integer));
  }
  if (is_float) attributes->SetFloat("value", number);
  else attributes->SetInt("int_value", integer);
  return Status();
}

void SetPadValue(const Graph& graph, const Node& node, KernelDesc* desc) {
  if (IsFloat(graph.value(node.outputs[0]).element)) {
    desc->Float("value", node.attributes.Float("value"));
  } else {
    desc->Int("value", node.attributes.Int("int_value"));
  }
}

namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 3));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(importer->Sizes(1, "amounts", &attributes));
  attributes.SetInt("axes", importer->InputRank(0));
  QUADRA_RETURN_IF_ERROR(ReadPadValue(*importer, 2, src, &attributes));
  return importer->AddNode("pad", {src}, std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  const int axes = node.attributes.Int("axes");
  const size_t amounts = node.attributes.Ints("amounts").size();
  if (amounts != 2 * static_cast<size_t>(axes)) {
    return InvalidModel("it has %zu padding amounts for rank %d", amounts, axes);
  }
  out.shape = in.shape;
  for (int a = 4 - axes; a < 4; ++a) {
    const Padding padding = PaddingOf(node.attributes, a);
    if (padding.before < 0 || padding.after < 0) {
      return Unsupported("it pads by a negative amount (%d before, %d after)", padding.before,
                         padding.after);
    }
    const int64_t length = int64_t{padding.before} + in.shape.axis(a) + padding.after;
    if (length > INT32_MAX)
      return Unsupported("its result has %lld elements along one axis",
                         static_cast<long long>(length));
    out.shape.set_axis(a, static_cast<int>(length));
  }
  out.rank = in.rank;
  return Status();
}

// Ranks 5 and 6.
void AddOuterPad(const KernelContext& context, const Graph& graph, const Node& node,
                 KernelList* list) {
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  const int first = 4 - node.attributes.Int("axes");
  const auto pads = [&](int axis) { return in.axis(axis) != out.axis(axis); };
  IndexMap map;
  map.fill = "value";
  map.keeps_channels = !pads(3);
  for (int axis = first; axis < 4; ++axis) {
    if (!pads(axis)) continue;
    map.address += Along(axis, axis - first, QUADRA_TEXT(R"($at -= before_$i;
inside = inside && $at >= 0 && $at < length_$i;
)"));
  }
  KernelDesc& desc =
      AddIndexMap(context, "pad", map, node.inputs[0], in, node.outputs[0], out, list);
  SetPadValue(graph, node, &desc);
  for (int axis = first; axis < 4; ++axis) {
    if (!pads(axis)) continue;
    desc.Int(Format("before_%d", axis - first), PaddingOf(node.attributes, axis).before);
    desc.Int(Format("length_%d", axis - first), in.axis(axis));
  }
}

// The four channels from `first` on may lie across two slices, and begin before the first channel
// or end after the last.
constexpr const char* kRow = QUADRA_TEXT(R"(
  int from_b = s / dst_s - before_b;
  int from_y = y - before_y;
  int first = s % dst_s * 4 - before_c;
  int rest = src_c - first;
  int from_s = from_b * src_s;
  int low = from_s + min(max(first >> 2, 0), src_s - 1);
  int high = from_s + min((first >> 2) + 1, src_s - 1);
  bool inside = from_b >= 0 && from_b < src_b && from_y >= 0 && from_y < src_h &&
                first > -4 && rest > 0;
  bool whole = first >= 0 && rest >= min(4, dst_c - s % dst_s * 4) && (first & 3) == 0;
)");

constexpr const char* kPixel = QUADRA_TEXT(R"(
    int from_x = x - before_x;
    num4 v = num4(value);
    if (inside && from_x >= 0 && from_x < src_w) {
      v = read_src(from_x, from_y, low);
      if (!whole) {
        v = num_lanes_from(v, read_src(from_x, from_y, high), first & 3);
        for (int i = 0; i < 4; ++i) {
          if (first + i < 0 || i >= rest) { v = num_with_lane(v, i, value); }
        }
      }
    }
    write_dst(v, x, y, s);
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& out = graph.shape(node.outputs[0]);
  if (node.attributes.Int("axes") > 4) {
    AddOuterPad(context, graph, node, list);
    return Status();
  }
  KernelDesc& desc = list->Add("pad");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  const char* const names[] = {"before_b", "before_y", "before_x", "before_c"};
  for (int axis = 0; axis < 4; ++axis) {
    desc.Int(names[axis], PaddingOf(node.attributes, axis).before);
  }
  SetPadValue(graph, node, &desc);
  LoopOverResults(context, out, kRow, kPixel, &desc);
  return Status();
}

ConstantData Fold(const Graph& graph, const Node& node) {
  if (!IsSmallConstant(graph, node)) return nullptr;
  const Value& in = graph.value(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  const Steps steps = StepsOf(out);
  int first = 0;
  for (int axis = 4 - node.attributes.Int("axes"); axis < 4; ++axis) {
    first += PaddingOf(node.attributes, axis).before * steps.of[axis - kFirstAxis];
  }
  const std::vector<int> places = PlacesOf(in.shape, steps, first);
  const auto put = [&](const auto& numbers, auto* made) {
    for (size_t i = 0; i < numbers.size(); ++i)
      (*made)[static_cast<size_t>(places[i])] = numbers[i];
  };
  const size_t size = static_cast<size_t>(out.elements());
  if (IsFloat(in.element)) {
    std::vector<float> made(size, node.attributes.Float("value"));
    put(*in.constant->floats(), &made);
    return std::make_shared<const Constant>(std::move(made));
  }
  std::vector<int32_t> made(size, node.attributes.Int("int_value"));
  put(in.constant->ints(), &made);
  return std::make_shared<const Constant>(in.element, std::move(made));
}

}  // namespace

extern const Op kPadOp;
const Op kPadOp = {
    .name = "pad",
    .builtins = {kTfLiteBuiltinPad, kTfLiteBuiltinPadV2, -1},
    .max_version = 5,
    .attributes = QUADRA_TEXT("amounts axes"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .fold = Fold,
    .max_rank = kMostRank,
    .copies = AlwaysCopies,
    .moves = true,
    .size_input = 1,
};

}  // namespace quadra
