// NON_MAX_SUPPRESSION_V4 and V5 (its hard form): the best box is taken, then the best one of those
// that do not overlap it, and so on; of equal ones the first. Results that no box is left for are
// 0. TFLite_Detection_PostProcess selects so, too (detection_postprocess.cc).
#include <algorithm>
#include <vector>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  const bool scored = importer->builtin() == kTfLiteBuiltinNonMaxSuppressionV5;
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(5 + scored, 5 + scored, 2 + scored));
  ValueId boxes, scores;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &boxes));
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &scores));
  int most;
  float overlap, least, sigma = 0.0f;
  QUADRA_RETURN_IF_ERROR(importer->ConstantInt(2, &most));
  QUADRA_RETURN_IF_ERROR(importer->ConstantFloat(3, &overlap));
  QUADRA_RETURN_IF_ERROR(importer->ConstantFloat(4, &least));
  if (scored) QUADRA_RETURN_IF_ERROR(importer->ConstantFloat(5, &sigma));
  if (sigma != 0.0f) return Unsupported("it lowers scores (a sigma of %g); 0 is supported", sigma);
  Shape shape;
  int rank;
  QUADRA_RETURN_IF_ERROR(importer->InputShape(1, &shape, &rank));
  if (rank != 1 || most < 1) return InvalidModel("it selects %d of scores of rank %d", most, rank);
  Attributes row, select;
  row.SetInts("shape", {1, 1, shape.c, 1});
  const ValueId best = importer->AddInnerNode("reshape", {scores}, std::move(row));
  select.SetInt("most", most);
  select.SetInt("any_corners", 1);
  select.SetFloats("limits", {least, overlap});
  const ValueId picks = importer->AddInnerNode("select_boxes", {boxes, best}, std::move(select));
  importer->graph()->value(picks).element = Element::kInt32;
  for (int i = 0; i < 2 + scored; ++i) {
    Attributes part;
    part.SetWord("part", i == 0 ? "place" : i == 1 && scored ? "score" : "count");
    part.SetInt("rank", i < 1 + scored);
    QUADRA_RETURN_IF_ERROR(
        importer->AddNodeFor(i, "selected_part", {best, picks}, std::move(part)));
  }
  return Status();
}

Status InferSelected(Graph* graph, const Node& node) {
  const Shape& boxes = graph->shape(node.inputs[0]);
  const Shape& best = graph->shape(node.inputs[1]);
  const int most = node.attributes.Int("most");
  if (boxes.w != best.w || boxes.c != 4 || boxes.h * boxes.b != 1) {
    return InvalidModel("its boxes are %s, their scores %d", ToString(boxes).c_str(), best.w);
  }
  Value& out = graph->value(node.outputs[0]);
  out.shape = {1, 1, 1, most};
  out.rank = 1;
  return Status();
}

// Each work-item of a group has the anchors k * items + me, and a bit in shared memory for each:
// whether it may still be taken. The results are one more than the places; 0: there is none.
constexpr const char* kSelect = QUADRA_TEXT(R"(
int me = LOCAL_X;
for (int k = 0; k < words; ++k) { open[me * words + k] = 0; }
for (int k = 0; k * items + me < src_w; ++k) {
  int bit = read_best(k * items + me, 0, 0).x ${corners:>=,>} least ? 1 : 0;
  open[me * words + k / 32] |= bit << (k % 32);
}
for (int found = 0; found < dst_c; ++found) {
  sum_t most = 0.0f;
  int at = -1;
  for (int k = 0; k * items + me < src_w; ++k) {
    sum_t n = read_best(k * items + me, 0, 0).x;
    int is_open = (open[me * words + k / 32] >> (k % 32)) & 1;
    if (is_open != 0 && (at < 0 || n > most)) { most = n; at = k * items + me; }
  }
  score[me] = most;
  place[me] = at;
  GROUP_BARRIER();
  at = -1;
  for (int i = 0; i < items; ++i) {
    bool is_first = at < 0 || score[i] > most || (score[i] == most && place[i] < at);
    if (place[i] >= 0 && is_first) { most = score[i]; at = place[i]; }
  }
  if (me == 0) { kept[found] = at + 1; }
  GROUP_BARRIER();
  sum4_t a = read_src(max(at, 0), 0, 0);
$if(corners)   a = vec4(min(a.x, a.z), min(a.y, a.w), max(a.x, a.z), max(a.y, a.w));
  sum_t area = (a.z - a.x) * (a.w - a.y);
  for (int k = 0; at >= 0 && k * items + me < src_w; ++k) {
    sum4_t b = read_src(k * items + me, 0, 0);
$if(corners)     b = vec4(min(b.x, b.z), min(b.y, b.w), max(b.x, b.z), max(b.y, b.w));
    sum_t other = (b.z - b.x) * (b.w - b.y);
    sum_t both = max(min(a.z, b.z) - max(a.x, b.x), 0.0f) * max(min(a.w, b.w) - max(a.y, b.y), 0.0f);
    bool overlaps = area > 0.0f && other > 0.0f && both ${corners:>,>=} overlap * (area + other - both);
    int bit = overlaps || k * items + me == at ? 1 : 0;
    open[me * words + k / 32] &= ~(bit << (k % 32));
  }
}
for (int i = me; i < dst_s; i += items) {
  ivec4 v = ivec4(kept[i * 4], kept[i * 4 + 1], kept[i * 4 + 2], kept[i * 4 + 3]);
  write_dst(v, 0, 0, i);
}
)");

Status SelectKernels(const KernelContext& context, const Graph& graph, const Node& node,
                     KernelList* list) {
  const int anchors = graph.shape(node.inputs[0]).w, most = node.attributes.Int("most");
  const GpuInfo& gpu = *context.gpu;
  int items = 64;
  while (items > std::min(gpu.max_work_group_size, gpu.max_work_group[0])) items /= 2;
  const int own = CeilDiv(anchors, items), words = CeilDiv(own, 32);
  KernelDesc& desc = list->Add("select_boxes");
  desc.Read("src", node.inputs[0]);
  desc.Read("best", node.inputs[1]);
  desc.Write("dst", node.outputs[0]);
  desc.Int("items", items);
  desc.Int("words", words);
  desc.Float("least", node.attributes.Floats("limits")[0]);
  desc.Float("overlap", node.attributes.Floats("limits")[1]);
  desc.shared.push_back({"score", "sum_t", items});
  desc.shared.push_back({"place", "int", items});
  desc.shared.push_back({"open", "int", items * words});
  desc.shared.push_back({"kept", "int", CeilDiv(most, 4) * 4});
  desc.trips = int64_t{most} * (2 * own + items);
  desc.body = Text(kSelect).Set("corners", node.attributes.Int("any_corners", 0) != 0);
  desc.Grid(items, 1, 1);
  desc.Group(items, 1, 1);
  return Status();
}

Status InferPart(Graph* graph, const Node& node) {
  const std::string& part = node.attributes.Word("part");
  const int kept = graph->shape(node.inputs[1]).c;
  Value& out = graph->value(node.outputs[0]);
  out.rank = node.attributes.Int("rank");
  out.shape = part == "box" ? Shape{1, 1, kept, 4} : Shape{1, 1, 1, part == "count" ? 1 : kept};
  return Status();
}

// A kernel may be launched before there are picks, on whatever the memory holds.
constexpr const char* kBox = QUADRA_TEXT(R"(
    int at = int_lane(read_picks(0, 0, x / 4), x % 4);
    vec4 v = read_src(min(max(at - 1, 0), src_w - 1), 0, 0);
    if (at == 0) { v = vec4(0.0f); }
    write_dst(v, x, y, s);
)");
constexpr const char* kLane = QUADRA_TEXT(R"(
    ivec4 at = read_picks(0, 0, s);
    vec4 v = vec4(0.0f);
    for (int j = 0; j < 4; ++j) {
      int i = int_lane(at, j);
      float n = read_src(min(max(i - 1, 0), src_w - 1), 0, 0).$lane;
      if (i > 0) { v = with_lane(v, j, n); }
    }
    write_dst(v, x, y, s);
)");
constexpr const char* kPlace = QUADRA_TEXT(R"(
    write_dst(max(read_picks(0, 0, s) - ivec4(1), ivec4(0)), x, y, s);
)");
constexpr const char* kCount = QUADRA_TEXT(R"(
    int n = 0;
    for (int i = 0; i < picks_s; ++i) {
      ivec4 is_there = is_less(ivec4(0), read_picks(0, 0, i));
      n += is_there.x + is_there.y + is_there.z + is_there.w;
    }
    write_dst(num4(num(n)), x, y, s);
)");

struct Part {
  const char* name;
  const char* text;
  const char* lane;  // of the boxes' numbers; null: it reads none
};
constexpr Part kParts[] = {{"box", kBox, ""},
                           {"score", kLane, "x"},
                           {"class", kLane, "y"},
                           {"place", kPlace, nullptr},
                           {"count", kCount, nullptr}};

Status PartKernels(const KernelContext& context, const Graph& graph, const Node& node,
                   KernelList* list) {
  const Part* part = kParts;
  while (node.attributes.Word("part") != part->name) ++part;
  KernelDesc& desc = list->Add("selected_part");
  if (part->lane) desc.Read("src", node.inputs[0]);
  desc.Read("picks", node.inputs[1]);
  desc.Write("dst", node.outputs[0]);
  desc.trips = graph.shape(node.inputs[1]).slices();
  const std::string body = Text(part->text).Set("lane", part->lane ? part->lane : "");
  LoopOverResults(context, graph.shape(node.outputs[0]), "", body.c_str(), &desc);
  return Status();
}

}  // namespace

extern const Op kSelectBoxesOp;
const Op kSelectBoxesOp = {
    .name = "select_boxes",
    .builtins = {kTfLiteBuiltinNonMaxSuppressionV4, kTfLiteBuiltinNonMaxSuppressionV5, -1},
    .attributes = QUADRA_TEXT("most limits"),
    .import = Import,
    .shape = InferSelected,
    .kernels = SelectKernels,
    .result = Result::kDeclared,
    .jumps = true,
    .makes_places = true,
};

extern const Op kSelectedPartOp;
const Op kSelectedPartOp = {
    .name = "selected_part",
    .attributes = QUADRA_TEXT("part rank"),
    .shape = InferPart,
    .kernels = PartKernels,
    .result = Result::kDeclared,
};

}  // namespace quadra
