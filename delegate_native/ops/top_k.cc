// TOPK_V2: the k largest numbers of the last axis, in order, and their places; of equal ones the
// first comes first. Each of the two results is a node of its own.
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/grid.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2, 2));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kFloats | kInts | kNarrowInts));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(importer->Sizes(1, "k", &attributes));
  QUADRA_RETURN_IF_ERROR(importer->AddNodeFor(0, "top_k", {src}, Attributes(attributes)));
  attributes.SetInt("places", 1);
  return importer->AddNodeFor(1, "top_k", {src}, std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  int k;
  QUADRA_RETURN_IF_ERROR(ReadInt(node, "k", &k));
  if (in.rank < 1 || k < 1 || k > in.shape.c) {
    return InvalidModel("it takes %d of %d", k, in.shape.c);
  }
  out.shape = in.shape;
  out.shape.c = k;
  out.rank = in.rank;
  return Status();
}

// Each round finds the largest of those behind the one that was found last. Of a group each
// work-item takes every $step-th slice, and all compare what they found. The number is read again
// from its place: where NVIDIA's compiler of GLSL ES makes a half of a float in shared memory, it
// takes the lower bits.
constexpr const char* kPixel = QUADRA_TEXT(R"($if(group)
int x = GLOBAL_Y, y = GLOBAL_Z % dst_h, s = GLOBAL_Z / dst_h;
$end
$one last = ${ints:0.0f,0};
int last_at = -1;
for (int j = 0; j < dst_s; ++j) {
num4 v = num4(0);
for (int k = 0; k < min(4, dst_c - j * 4); ++k) {
$one best = ${ints:0.0f,0};
int best_at = -1;
for (int i = $begin; i < src_s; i += $step) {
${ints:vec4,ivec4} four = read_src(x, y, s * src_s + i);
for (int q = 0; q < min(4, src_c - i * 4); ++q) {
$one n = ${ints:lane,int_lane}(four, q);
int at = i * 4 + q;

bool is_next = last_at < 0 || n < last || (n == last && at > last_at);
if (is_next && (best_at < 0 || n > best)) { best = n; best_at = at; }
}
}
$if(group)
found[LOCAL_X] = vec4(best, float(best_at), 0.0f, 0.0f);
GROUP_BARRIER();
for (int i = 0; i < $step; ++i) {
sum_t n = found[i].x;
int at = int(found[i].y);
if (at >= 0 && (best_at < 0 || n > best || (n == best && at < best_at))) { best = n; best_at = at; }
}
GROUP_BARRIER();
$end
last = best;
last_at = best_at;
$if(again) v = num_with_lane(v, k, best_at < 0 ? best : lane(read_src(x, y, s * src_s + best_at / 4), best_at % 4));
$if(!again) v = num_with_lane(v, k, ${places:best,best_at});
}
$if(group) if (LOCAL_X == 0)
write_dst(v, x, y, s * dst_s + j);
}
)");

constexpr int kGroup = 128;

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& in = graph.value(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  const bool is_int = !IsFloat(in.element);
  // Places are floats in the group's memory: exact up to 2^24.
  const bool group = !is_int && context.gpu->divides_reductions_by(kGroup) &&
                     in.shape.slices() >= 2 * kGroup && in.shape.c <= 1 << 24 &&
                     out.w * out.h * out.b <= 64;
  KernelDesc& desc = list->Add(group ? "top_k_group" : "top_k");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  desc.trips = int64_t{out.c} * in.shape.c;
  Text text(kPixel);
  text.Set("group", group).Set("begin", group ? "LOCAL_X" : "0").Set("step", group ? kGroup : 1);
  text.Set("ints", is_int).Set("one", is_int ? "int" : "sum_t");
  const int places = node.attributes.Int("places", 0);
  const std::string body = text.Set("places", places).Set("again", group && !places);
  if (group) {
    desc.trips = int64_t{out.c} * (in.shape.slices() / kGroup + kGroup);
    desc.shared.push_back({"found", "sum4_t", kGroup});
    desc.body = body;
    desc.Grid(kGroup, out.w, out.h * out.b);
    desc.Group(kGroup, 1, 1);
    return Status();
  }
  Loops loops;
  loops.limits[2] = "dst_b";
  loops.pixel = body.c_str();
  loops.work = 512;
  LoopOver(context, out.w, out.h, out.b, loops, &desc);
  return Status();
}

}  // namespace

extern const Op kTopKOp;
const Op kTopKOp = {
    .name = "top_k",
    .builtins = {kTfLiteBuiltinTopkV2, -1},
    .max_version = 3,
    .attributes = QUADRA_TEXT("k"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .result = Result::kDeclared,
    .max_rank = kMostRank,
    .size_input = 1,
};

}  // namespace quadra
