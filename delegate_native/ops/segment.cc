// UNSORTED_SEGMENT_SUM, _PROD, _MAX and _MIN, and SEGMENT_SUM: parts of a tensor, each with the
// number of the segment that it is combined into. The axes of these numbers are the first ones of
// the tensor; the rest of them are a part. A part whose number is negative is in no segment, and
// none is one whose number is too large, where the CPU fails. Each result looks at all parts, in
// their order.
#include "delegate_native/base/status.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/combination.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/reshape.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

// A segment without parts.
struct Segments {
  int16_t builtin;
  Combination combination;
  const char *first, *int_first;
};
constexpr Segments kSegments[] = {
    {kTfLiteBuiltinUnsortedSegmentSum, Combination::kAdd, "0.0f", "0"},
    {kTfLiteBuiltinUnsortedSegmentProd, Combination::kMultiply, "1.0f", "1"},
    {kTfLiteBuiltinUnsortedSegmentMax, Combination::kMaximum, "-3.4028234e38f", "-2147483647 - 1"},
    {kTfLiteBuiltinUnsortedSegmentMin, Combination::kMinimum, "3.4028234e38f", "2147483647"},
};

Status ReadParts(Importer* importer, std::vector<ValueId>* values) {
  values->resize(2);
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &(*values)[0], kFloats | kInts));
  return importer->Operand(1, &(*values)[1], kInts);
}

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 3));
  std::vector<ValueId> values;
  QUADRA_RETURN_IF_ERROR(ReadParts(importer, &values));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(importer->Sizes(2, "count", &attributes));
  attributes.SetInt("builtin", importer->builtin());
  return importer->AddNode("segment", std::move(values), std::move(attributes));
}

// The numbers rise: the last one says how many segments there are.
Status ImportSorted(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  std::vector<ValueId> values;
  QUADRA_RETURN_IF_ERROR(ReadParts(importer, &values));
  std::vector<int> numbers;
  QUADRA_RETURN_IF_ERROR(importer->ConstantInts(1, &numbers));
  if (numbers.empty() || numbers.back() < 0 || numbers.back() == INT32_MAX) {
    return InvalidModel("its last segment has no number");
  }
  Attributes attributes;
  attributes.SetInts("count", {numbers.back() + 1});
  attributes.SetInt("builtin", kTfLiteBuiltinUnsortedSegmentSum);
  return importer->AddNode("segment", std::move(values), std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& parts = graph->value(node.inputs[0]);
  const Value& numbers = graph->value(node.inputs[1]);
  int count;
  QUADRA_RETURN_IF_ERROR(ReadInt(node, "count", &count));
  if (count < 1) return InvalidModel("it has %d segments", count);
  bool fits = numbers.rank >= 1 && numbers.rank <= parts.rank;
  std::vector<int> sizes = {count};
  for (int i = 0; fits && i < parts.rank; ++i) {
    const int n = parts.shape.axis(4 - parts.rank + i);
    if (i >= numbers.rank) {
      sizes.push_back(n);
    } else {
      fits = numbers.shape.axis(4 - numbers.rank + i) == n;
    }
  }
  if (!fits) {
    return InvalidModel("parts of %s have numbers %s", ToString(parts.shape).c_str(),
                        ToString(numbers.shape).c_str());
  }
  return SetDims(sizes, &graph->value(node.outputs[0]));
}

constexpr const char* kBody = QUADRA_TEXT(R"($number v = num4($first);
for (int m = 0; m < parts; ++m) {
if (read_numbers(m, 0, 0).x == x) {
num4 u = read_src(m, 0, s);
$combine
}
}
write_dst(v, x, y, s);
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& in = graph.value(node.inputs[0]);
  Shape numbers, parts, made;
  numbers.w = parts.w = static_cast<int>(graph.shape(node.inputs[1]).elements());
  parts.c = made.c = static_cast<int>(in.shape.elements() / parts.w);
  QUADRA_RETURN_IF_ERROR(ReadInt(node, "count", &made.w));
  const int at = Viewed(context, graph, node.inputs[1], numbers, list);
  const int src = Viewed(context, graph, node.inputs[0], parts, list);
  const int to = BeginReshape(graph, node, made, list);
  KernelDesc& desc = list->Add("segment");
  desc.Read("src", src);
  desc.Read("numbers", at);
  desc.Write("dst", to);
  desc.Int("parts", parts.w);
  desc.trips = parts.w;
  const bool is_int = !IsFloat(in.element);
  for (const Segments& one : kSegments) {
    if (one.builtin != node.attributes.Int("builtin")) continue;
    Text text(kBody);
    text.Set("number", is_int ? "ivec4" : "sum4_t");  // many numbers may be added
    text.Set("first", is_int ? one.int_first : one.first);
    const Combining& combining = CombiningOf(one.combination);
    text.Set("combine", is_int ? combining.int_text : combining.text);
    const std::string body = text;
    LoopOverResults(context, made, "", body.c_str(), &desc);
    FinishReshape(context, graph, node, to, made, list);
    return Status();
  }
  return InvalidModel("it is op %d", node.attributes.Int("builtin"));
}

}  // namespace

extern const Op kSegmentOp;
const Op kSegmentOp = {
    .name = "segment",
    .builtins = {kTfLiteBuiltinUnsortedSegmentSum, kTfLiteBuiltinUnsortedSegmentProd,
                 kTfLiteBuiltinUnsortedSegmentMax, kTfLiteBuiltinUnsortedSegmentMin, -1},
    .max_version = 1,
    .attributes = QUADRA_TEXT("count builtin"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .place_input = 1,
    .size_input = 2,
};

extern const Op kSegmentSumOp;
const Op kSegmentSumOp = {
    .name = "segment_sum",
    .builtins = {kTfLiteBuiltinSegmentSum, -1},
    .max_version = 1,
    .import = ImportSorted,
    .max_rank = kMostRank,
};

}  // namespace quadra
