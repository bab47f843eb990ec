// CUMSUM: sums up to each place of an axis; exclusive ones leave the place itself out, reverse ones
// begin at the end.
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/reduce.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  const TfLiteCumsumParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kFloats | kInts | Only(Element::kInt64)));
  int axis;
  QUADRA_RETURN_IF_ERROR(ReadAxis(*importer, 1, importer->InputRank(0), &axis));
  Attributes attributes;
  attributes.SetInt("axis", axis);
  attributes.SetInt("exclusive", params->exclusive);
  attributes.SetInt("reverse", params->reverse);
  return importer->AddNode("cumsum", {src}, std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  QUADRA_RETURN_IF_ERROR(SameShape(graph, node));
  const Value& in = graph->value(node.inputs[0]);
  return CheckSummands(in.element, in.shape.axis(node.attributes.Int("axis")));
}

// A work-item goes along the whole axis: `i` counts its places, `at` is the place.
constexpr const char* kAlongChannels = QUADRA_TEXT(R"(
int first = s * dst_s;
$one all = ${ints:0.0f,0};
for (int i = 0; i < length; ++i) {
int at = ${reverse:i,length - 1 - i};
num4 v = read_src(x, y, first + at);
int lanes = min(4, dst_c - at * 4);
for (int j = 0; j < lanes; ++j) {
int k = ${reverse:j,lanes - 1 - j};
$if(exclusive) $one was = all;
all += ${ints:lane,int_lane}(v, k);
v = num_with_lane(v, k, ${ints:float($made),$made});
}
write_dst(v, x, y, first + at);
}
)");
constexpr const char* kAlongPixels = QUADRA_TEXT(R"($if(batches)

int batch = s / dst_s;
int slice = s - batch * dst_s;
int at_b = batch % step;
int outer = batch / step * step * length + at_b;
$end
$one all = ${ints:vec4(0.0f),ivec4(0)};
for (int i = 0; i < length; ++i) {
int at = ${reverse:i,length - 1 - i};
$if(exclusive) $one was = all;
all += read_src($place);
write_dst($made, $place);
}
)");

std::string Body(int axis, bool is_int, bool exclusive, bool reverse) {
  Text text(axis == 3 ? kAlongChannels : kAlongPixels);
  text.Set("ints", is_int).Set("exclusive", exclusive).Set("reverse", reverse);
  text.Set("one", axis == 3 ? "${ints:sum_t,int}" : "${ints:sum4_t,ivec4}");
  text.Set("made", exclusive ? "was" : "all").Set("batches", axis < 1);
  return text.Set("place", axis == 2   ? "at, y, s"
                           : axis == 1 ? "x, at, s"
                                       : "x, y, (outer + at * step) * dst_s + slice");
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& in = graph.value(node.inputs[0]);
  const int axis = node.attributes.Int("axis");
  KernelDesc& desc = list->Add("cumsum");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  const int length = axis == 3 ? in.shape.slices() : in.shape.axis(axis);
  desc.Int("length", length);
  desc.trips = int64_t{length} * (axis == 3 ? 4 : 1);
  int step = 1;  // batches from one place of the axis to the next
  for (int after = axis + 1; after <= 0; ++after) step *= in.shape.axis(after);
  desc.Int("step", step);
  const std::string body = Body(axis, !IsFloat(in.element), node.attributes.Int("exclusive") != 0,
                                node.attributes.Int("reverse") != 0);
  Loops loops;
  const int batches = axis > 0 ? in.shape.b : in.shape.b / length;
  const int depth = axis == 3 ? in.shape.b : batches * in.shape.slices();
  desc.Int("rows", axis == 1 ? 1 : in.shape.h);
  desc.Int("columns", axis == 2 ? 1 : in.shape.w);
  desc.Int("depth", depth);
  loops.limits[0] = "columns", loops.limits[1] = "rows", loops.limits[2] = "depth";
  loops.pixel = body.c_str();
  loops.work = 512;
  LoopOver(context, axis == 2 ? 1 : in.shape.w, axis == 1 ? 1 : in.shape.h, depth, loops, &desc);
  return Status();
}

}  // namespace

extern const Op kCumsumOp;
const Op kCumsumOp = {
    .name = "cumsum",
    .builtins = {kTfLiteBuiltinCumsum, -1},
    .max_version = 1,
    .params_bytes = sizeof(TfLiteCumsumParams),
    .attributes = QUADRA_TEXT("axis exclusive reverse"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .max_rank = kMostRank,
    .asks_for_rank = true,
};

}  // namespace quadra
