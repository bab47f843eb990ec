// ARG_MAX, ARG_MIN: the place of the largest or least number along an axis; of equal ones the
// first. As on the CPU, NaN is no number; if there is no other, the place is 0.
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/cpu_kernels.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/reshape.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kFloats | kInts | kNarrowInts | kBools));
  int axis;
  QUADRA_RETURN_IF_ERROR(ReadAxis(*importer, 1, importer->InputRank(0), &axis));
  const TfLiteType made = importer->OutputTensor(0).type;
  if (made != kTfLiteInt32 && made != kTfLiteInt64) {
    return Unsupported("it makes %s; int32 and int64 are supported", TypeName(made));
  }
  Attributes attributes;
  attributes.SetInt("axis", axis);
  attributes.SetInt("least", importer->builtin() == kTfLiteBuiltinArgMin);
  return importer->AddNode("arg_max", {src}, std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  DropAxes(graph->value(node.inputs[0]), {node.attributes.Int("axis")}, /*keep=*/false,
           &graph->value(node.outputs[0]));
  return Status();
}

// Four results, which are neighbours in the output: each of a pixel of its own. The largest so far
// in each lane, beginning with the first number: what is no larger than that has the place 0. Of a
// group each work-item takes every $step-th slice, and all compare what they found.
constexpr const char* kAlongChannels = QUADRA_TEXT(R"($if(group)
int x = GLOBAL_Y, y = GLOBAL_Z % dst_h, s = GLOBAL_Z / dst_h;
$end
int at = ((s / dst_s * dst_h + y) * dst_w + x) * dst_c + s % dst_s * 4;
ivec4 result = ivec4(0);
for (int j = 0; j < 4; ++j) {
int p = min(at + j, count - 1);
int row = p / src_w, b = row / src_h;
p -= row * src_w; row -= b * src_h; b *= src_s;
${ints:float,int} best = ${ints:lane,int_lane}(read_src(p, row, b), 0);
$four most = $four(best);
ivec4 places = ivec4(0), place = ivec4(0, 1, 2, 3) + $begin * 4;
for (int i = $begin; i < src_s; i += $step, place += 4 * $step) {
$four v = read_src(p, row, b + i);
ivec4 is_better = ($better) & is_less(place, ivec4(src_c));
most = choose(is_better, v, most);
places = choose(is_better, place, places);
}
$four v = $four(most.y, most.x, most.w, most.z);
place = ivec4(places.y, places.x, places.w, places.z);
ivec4 is_better = ($better) | (is_equal(v, most) & is_less(place, places));
most = choose(is_better, v, most);
places = choose(is_better, place, places);
v = $four(most.z, most.w, most.x, most.y);
place = ivec4(places.z, places.w, places.x, places.y);
is_better = ($better) | (is_equal(v, most) & is_less(place, places));
places = choose(is_better, place, places);
$if(group)
most = choose(is_better, v, most);
found[LOCAL_X] = vec4(most.x, float(places.x), 0.0f, 0.0f);
GROUP_BARRIER();
for (int i = 0; i < $step; ++i) {
v = vec4(found[i].x);
place = ivec4(int(found[i].y));
is_better = ($better) | (is_equal(v, most) & is_less(place, places));
most = choose(is_better, v, most);
places = choose(is_better, place, places);
}
GROUP_BARRIER();
$end
result = int_with_lane(result, j, places.x);
}
$if(group) if (LOCAL_X == 0)
write_dst(result, x, y, s);
)");
constexpr const char* kAlongPixels = QUADRA_TEXT(R"(
int batch = s / dst_s;
int slice = s - batch * dst_s;
int at_b = batch % to_b;
int outer = batch / to_b;
int i = 0;
$four most = read_src($place);
ivec4 found = ivec4(0);
for (i = 1; i < count; ++i) {
$four v = read_src($place);
ivec4 is_better = $better;
most = choose(is_better, v, most);
found = choose(is_better, ivec4(i), found);
}
write_dst(found, x, y, s);
)");

constexpr int kGroup = 64;

// Along an axis of pixels, four channels at once.
std::string Body(int axis, bool is_float, bool least, bool group) {
  Text text(axis == 3 ? kAlongChannels : kAlongPixels);
  text.Set("group", group).Set("begin", group ? "LOCAL_X" : "0").Set("step", group ? kGroup : 1);
  text.Set("ints", !is_float).Set("four", is_float ? "vec4" : "ivec4");
  text.Set("less", least ? "is_less(v, most)" : "is_less(most, v)");
  text.Set("better",
           is_float ? QUADRA_TEXT("$less | (is_number(v) & (1 - is_number(most)))") : "$less");
  return text.Set(
      "place", axis == 2   ? QUADRA_TEXT("i, y, (outer * from_b + at_b) * src_s + slice")
               : axis == 1 ? QUADRA_TEXT("x, i, (outer * from_b + at_b) * src_s + slice")
               : axis == 0 ? "x, y, (outer * from_b + i) * src_s + slice"
               : axis == -1
                   ? QUADRA_TEXT("x, y, ((outer * from_q + i) * from_b + at_b) * src_s + slice")
                   : QUADRA_TEXT("x, y, ((i * from_q + outer) * from_b + at_b) * src_s + slice"));
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& in = graph.value(node.inputs[0]);
  const int axis = node.attributes.Int("axis");
  Shape made = in.shape;
  made.set_axis(axis, 1);
  const bool channels = axis == 3;
  const int to = channels ? node.outputs[0] : BeginReshape(graph, node, made, list);
  KernelDesc& desc = list->Add("arg_max");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", to);
  const bool least = node.attributes.Int("least") != 0;
  // Places are floats in the group's memory: exact up to 2^24.
  const bool group =
      channels && IsFloat(in.element) && context.gpu->divides_reductions_by(kGroup) &&
      in.shape.slices() >= 4 * kGroup && in.shape.c <= 1 << 24 && made.elements() <= 64;
  const std::string body = Body(axis, IsFloat(in.element), least, group);
  desc.trips = in.shape.axis(axis);
  if (channels) {
    desc.Int("count", static_cast<int>(made.elements()));
    const Shape& out = graph.shape(to);
    if (group) {
      desc.name += "_group";
      desc.trips = in.shape.slices() * 4 / kGroup + 4 * kGroup;
      desc.shared.push_back({"found", "sum4_t", kGroup});
      desc.body = body;
      desc.Grid(kGroup, out.w, out.h * out.slices() * out.b);
      desc.Group(kGroup, 1, 1);
    } else if (const auto own = CpuKernelsFor(*context.gpu).arg_max) {
      own(out, IsFloat(in.element), least, body, &desc);
    } else {
      LoopOverResults(context, out, "", body.c_str(), &desc);
    }
    return Status();
  }
  desc.Int("count", in.shape.axis(axis));
  desc.Int("to_b", made.axis(0));
  desc.Int("from_b", in.shape.axis(0));
  desc.Int("from_q", in.shape.axis(-1));
  LoopOverResults(context, made, "", body.c_str(), &desc);
  FinishReshape(context, graph, node, to, made, list);
  return Status();
}

}  // namespace

extern const Op kArgMaxOp;
const Op kArgMaxOp = {
    .name = "arg_max",
    .builtins = {kTfLiteBuiltinArgMax, kTfLiteBuiltinArgMin, -1},
    .max_version = 3,
    .attributes = QUADRA_TEXT("axis least"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .result = Result::kDeclared,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .makes_places = true,
    .size_input = 1,
};

}  // namespace quadra
