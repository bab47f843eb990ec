// Attention: softmax(scale * q * k^T + mask) * v for each head, as the composite
// odml.scaled_dot_product_attention has it and as passes/fuse_attention.cc finds it. There are n
// heads of q, of which n / m in a row share a head of k and v. A mask, [b, n, t, s], is broadcast;
// `cap` bounds the products before: cap * tanh(product / cap). The products with k are one kernel,
// those with v another: both read k and v as they lie, once for up to four rows of q that share
// them.
#include <algorithm>

#include "delegate_native/base/status.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/composites.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/softmax.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

// The order of axes of q, k, v and the result (attribute `layouts`): heads before rows, rows before
// heads, or (v alone) each row a column.
enum Layout { kHeadsFirst, kRowsFirst, kColumns };

struct Sizes {
  int heads, rows;     // of q
  int shared;          // heads of q to one of k and v
  int groups, places;  // heads of k and v, and how many rows they have
  int depth;           // channels of v
};

int Heads(const Shape& shape, int layout) { return layout == kRowsFirst ? shape.w : shape.h; }
int Rows(const Shape& shape, int layout) {
  return layout == kHeadsFirst ? shape.w : layout == kRowsFirst ? shape.h : shape.c;
}
bool Fits(int n, int most) { return n == 1 || n == most; }

bool ReadSizes(const Shape& q, const Shape& k, const Shape& v, const Shape& mask,
               const std::vector<int>& layouts, Sizes* sizes) {
  sizes->heads = Heads(q, layouts[0]), sizes->rows = Rows(q, layouts[0]);
  sizes->groups = Heads(k, layouts[1]), sizes->places = Rows(k, layouts[1]);
  sizes->shared = sizes->heads / sizes->groups;
  sizes->depth = layouts[2] == kColumns ? v.w : v.c;
  return sizes->heads % sizes->groups == 0 && q.b == k.b && q.b == v.b && q.c == k.c &&
         Heads(v, layouts[2]) == sizes->groups && Rows(v, layouts[2]) == sizes->places &&
         Fits(mask.b, q.b) && Fits(mask.h, sizes->heads) && Fits(mask.w, sizes->rows) &&
         Fits(mask.c, sizes->places);
}

Sizes SizesOf(const Graph& graph, const Node& node) {
  Sizes sizes;
  const std::vector<ValueId>& inputs = node.inputs;
  (void)ReadSizes(graph.shape(inputs[0]), graph.shape(inputs[1]), graph.shape(inputs[2]), Shape(),
                  node.attributes.Ints("layouts"), &sizes);
  return sizes;
}

Status InferShape(Graph* graph, const Node& node) {
  const std::vector<ValueId>& inputs = node.inputs;
  const std::vector<int>& layouts = node.attributes.Ints("layouts");
  const Value& q = graph->value(inputs[0]);
  Sizes sizes;
  if (!ReadSizes(q.shape, graph->shape(inputs[1]), graph->shape(inputs[2]),
                 inputs.size() > 3 ? graph->shape(inputs[3]) : Shape(), layouts, &sizes)) {
    return InvalidModel("the shapes of its inputs do not fit each other");
  }
  Value& out = graph->value(node.outputs[0]);
  out.rank = q.rank;
  out.shape = Shape();
  out.shape.b = q.shape.b;
  out.shape.h = layouts[3] == kHeadsFirst ? sizes.heads : sizes.rows;
  out.shape.w = layouts[3] == kHeadsFirst ? sizes.rows : sizes.heads;
  out.shape.c = sizes.depth;
  return Status();
}

// The rows of a tile: those of all heads that share one of k and v, head after head.
constexpr const char* kTile = QUADRA_TEXT(R"(
int batch = s / dst_s;
int slice = s - batch * dst_s;
$for(i, rows)
int row$i = min(x * $rows + $i, row_count - 1);
int head$i = y * sharing + row$i / tokens, token$i = row$i % tokens;
sum4_t sum$i = vec4(0.0f);
$end
)");
constexpr const char* kAddProducts = QUADRA_TEXT(R"(
$if(columns) $for(i, 4) sum4_t b$i = vec4(c0.${i:x,y,z,w}, c1.${i:x,y,z,w}, c2.${i:x,y,z,w}, c3.${i:x,y,z,w});
$for(i, rows) sum$i += a$i.x * b0 + a$i.y * b1 + a$i.z * b2 + a$i.w * b3;
)");

// Scores of four places. Where the mask leaves out all of them, it is what they are: k is not read.
constexpr const char* kScores = QUADRA_TEXT(R"($tile
$for(i, 4) int place$i = min(slice * 4 + $i, places - 1);
int steps = q_s;
$if(masked)
ivec4 hides = ivec4(1);
$for(i, rows)
$if(whole) sum4_t mask$i = read_mask(token$i * mask_x, head$i * mask_y, batch * mask_z + slice);
$if(!whole) sum4_t mask$i = vec4(read_mask(token$i * mask_x, head$i * mask_y, batch * mask_z).x);
hides = hides & is_less(mask$i, vec4(-1.0e38f));
$end
if (hides.x + hides.y + hides.z + hides.w == 4) { steps = 0; }
$end
for (int k = 0; k < steps; ++k) {
$for(i, rows) sum4_t a$i = read_q(${q:token$i,head$i}, ${q:head$i,token$i}, batch * q_s + k);
$for(i, 4) sum4_t c$i = read_key(${key:place$i,y}, ${key:y,place$i}, batch * key_s + k);
$products}
$for(i, rows)
sum$i *= scale;
$if(capped) sum$i = tanh(sum$i / cap) * cap;
$if(masked) sum$i += mask$i;
if (x * $rows + $i < row_count) { write_dst(sum$i, row$i, y, s); }
$end
)");

constexpr const char* kDropDeadLanes = QUADRA_TEXT(R"(
  if (rest < 2) { a$i.y = $dead; }
  if (rest < 3) { a$i.z = $dead; }
  if (rest < 4) { a$i.w = $dead; }
)");
// Sums of v: of weights, or of scores, where a group of work-items makes weights of them first. v
// is not read where all weights are 0.
constexpr const char* kValues = QUADRA_TEXT(R"($if(group)
int x = GLOBAL_Y;
int y = GLOBAL_Z % groups;
int s = GLOBAL_Z / groups;
$end
$tile
$if(group)
sum4_t tops = vec4(0.0f);
$for(i, rows)
tops.${i:x,y,z,w} = read_scores(row$i, y, batch * scores_s).x;
for (int k = LOCAL_X; k < scores_s; k += $step) {
  int rest = places - k * 4;
  sum4_t a$i = read_scores(row$i, y, batch * scores_s + k);
$largest
  tops.${i:x,y,z,w} = max(tops.${i:x,y,z,w}, max(max(a$i.x, a$i.y), max(a$i.z, a$i.w)));
}
$end
part[LOCAL_X] = tops;
GROUP_BARRIER();
for (int i = 0; i < $step; ++i) { tops = max(tops, part[i]); }
GROUP_BARRIER();
sum4_t totals = vec4(0.0f);
$end
for (int k = $begin; k < scores_s; k += $step) {
$if(group) int rest = places - k * 4;
$for(i, rows)
sum4_t a$i = read_scores(row$i, y, batch * scores_s + k);
$if(group)
a$i = exp(a$i - vec4(tops.${i:x,y,z,w}));
$zero
totals.${i:x,y,z,w} += a$i.x + a$i.y + a$i.z + a$i.w;
$end
$end
if (a0.x == 0.0f) {
sum4_t all = vec4(0.0f);
$for(i, rows) all += a$i;
if (all.x + all.y + all.z + all.w == 0.0f) { continue; }
}
$if(columns) $for(i, 4) sum4_t c$i = read_v(min(slice * 4 + $i, v_w - 1), y, batch * v_s + k);
$if(!columns)
$for(i, 4)
sum4_t b$i = vec4(0.0f);
if (k * 4 + $i < places) { b$i = read_v(${v:k * 4 + $i,y}, ${v:y,k * 4 + $i}, batch * v_s + slice); }
$end
$end
$products}
$if(group)
part[LOCAL_X] = totals;
GROUP_BARRIER();
totals = vec4(0.0f);
for (int i = 0; i < $step; ++i) { totals += part[i]; }
GROUP_BARRIER();
$for(i, rows)
part[LOCAL_X] = sum$i;
GROUP_BARRIER();
if (LOCAL_X == $i && x * $rows + $i < row_count) {
  sum$i = vec4(0.0f);
  for (int i = 0; i < $step; ++i) { sum$i += part[i]; }
  sum$i /= totals.${i:x,y,z,w};
$write}
GROUP_BARRIER();
$end
$end
$if(!group)
$for(i, rows)
if (x * $rows + $i < row_count) {
$write}
$end
$end
)");
constexpr const char* kWrite =
    QUADRA_TEXT("write_dst(sum$i, ${out:token$i,head$i}, ${out:head$i,token$i}, s);\n");

constexpr int kGroup = 32;
constexpr int kFewItems = 1024;

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const std::vector<int>& layouts = node.attributes.Ints("layouts");
  const Sizes sizes = SizesOf(graph, node);
  const Shape& out = graph.shape(node.outputs[0]);
  const int rows = sizes.shared * sizes.rows;
  const int tile = rows < 3 ? rows : 4, tiles = CeilDiv(rows, tile);
  const int results = tiles * sizes.groups * out.slices() * out.b;
  const bool group = context.gpu->divides_reductions_by(kGroup) && results <= kFewItems;
  Shape scored;
  scored.b = out.b, scored.h = sizes.groups, scored.w = rows, scored.c = sizes.places;
  int scores = list->AddScratch(scored);
  const auto add_sizes = [&](KernelDesc* desc) {
    desc->Int("row_count", rows);
    desc->Int("sharing", sizes.shared);
    desc->Int("tokens", sizes.rows);
    desc->Int("places", sizes.places);
    desc->Int("tiles", tiles);
    desc->Int("groups", sizes.groups);
  };
  const auto loop = [&](Text* text, int slices, KernelDesc* desc) {
    const std::string body = *text;
    Loops loops;
    loops.limits[0] = "tiles";
    loops.limits[1] = "groups";
    loops.pixel = body.c_str();
    loops.work = 32;
    LoopOver(context, tiles, sizes.groups, slices * out.b, loops, desc);
  };
  Text text(kScores);
  text.Set("tile", kTile).Set("products", kAddProducts).Set("rows", tile).Set("columns", 1);
  text.Set("q", layouts[0]).Set("key", layouts[1]);
  KernelDesc& first = list->Add("attention_scores");
  first.Read("q", node.inputs[0]);
  first.Read("key", node.inputs[1]);
  const bool masked = node.inputs.size() > 3, capped = node.attributes.Has("cap");
  bool whole = false;
  if (masked) {
    const Shape& mask = graph.shape(node.inputs[3]);
    whole = mask.c == sizes.places;
    first.Read("mask", node.inputs[3]);
    first.Int("mask_x", mask.w > 1);
    first.Int("mask_y", mask.h > 1);
    first.Int("mask_z", mask.b > 1 ? mask.slices() : 0);
  }
  text.Set("masked", masked).Set("whole", whole).Set("capped", capped);
  first.Write("dst", scores);
  first.Float("scale", node.attributes.Float("scale"));
  if (capped) first.Float("cap", node.attributes.Float("cap"));
  add_sizes(&first);
  first.trips = graph.shape(node.inputs[0]).slices();
  loop(&text, scored.slices(), &first);

  if (!group) {
    const int weights = list->AddScratch(scored);
    AddSoftmax(context, scores, weights, scored, /*beta=*/1.0f, list);
    scores = weights;
  }
  Text sums(kValues);
  sums.Set("tile", kTile).Set("products", kAddProducts).Set("rows", tile).Set("write", kWrite);
  sums.Set("columns", layouts[2] == kColumns)
      .Set("v", layouts[2] == kRowsFirst)
      .Set("out", layouts[3]);
  const std::string largest = Text(kDropDeadLanes).Set("dead", "a$i.x");
  const std::string zero = Text(kDropDeadLanes).Set("dead", "0.0f");
  sums.Set("largest", largest).Set("zero", zero).Set("group", group);
  sums.Set("begin", group ? "LOCAL_X" : "0").Set("step", group ? kGroup : 1);
  KernelDesc& second = list->Add(group ? "attention_values_group" : "attention_values");
  second.Read("scores", scores);
  second.Read("v", node.inputs[2]);
  second.Write("dst", node.outputs[0]);
  add_sizes(&second);
  second.trips = scored.slices();
  if (!group) {
    loop(&sums, out.slices(), &second);
    return Status();
  }
  second.trips = 2 * second.trips / kGroup + int64_t{6} * kGroup;
  second.shared.push_back({"part", "sum4_t", kGroup});
  second.body = sums;
  second.Grid(kGroup, tiles, sizes.groups * out.slices() * out.b);
  second.Group(kGroup, 1, 1);
  return Status();
}

}  // namespace

Status ImportAttention(const FlexMap& attributes, Importer* importer, ValueId* result) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 4));
  float scale, cap = 1.0f;
  QUADRA_RETURN_IF_ERROR(attributes.Float("scale", &scale));
  const bool has_cap = attributes.Has("logit_cap");
  if (has_cap) QUADRA_RETURN_IF_ERROR(attributes.Float("logit_cap", &cap));
  if (attributes.size() != (has_cap ? 2 : 1) || !(cap > 0.0f)) {
    return Unsupported("it has attributes other than scale and a logit_cap above 0");
  }
  const int count = importer->HasInput(3) ? 4 : 3;
  Shape shapes[4];
  std::vector<ValueId> values(static_cast<size_t>(count));
  bool fits = true;
  for (int i = 0; i < count; ++i) {
    int rank;
    QUADRA_RETURN_IF_ERROR(importer->InputShape(i, &shapes[i], &rank));
    QUADRA_RETURN_IF_ERROR(importer->Operand(i, &values[static_cast<size_t>(i)]));
    fits &= rank == 4;
  }
  const std::vector<int> layouts(4, kRowsFirst);
  Sizes sizes;
  if (!fits || !ReadSizes(shapes[0], shapes[1], shapes[2], shapes[3], layouts, &sizes)) {
    return Unsupported("the shapes of its inputs do not fit each other");
  }
  Attributes how;
  how.SetFloat("scale", scale);
  if (has_cap) how.SetFloat("cap", cap);
  how.SetInts("layouts", layouts);
  *result = importer->AddInnerNode("attention", std::move(values), std::move(how));
  return Status();
}

extern const Op kAttentionOp;
const Op kAttentionOp = {
    .name = "attention",
    .attributes = QUADRA_TEXT("scale layouts"),
    .shape = InferShape,
    .kernels = Kernels,
};

}  // namespace quadra
