// Attention: softmax(scale * q * k^T + mask) * v for each head, as the composite
// odml.scaled_dot_product_attention has it and as passes/fuse_attention.cc finds it. There are n
// heads of q, of which n / m in a row share a head of k and v. A mask, [b, n, t, s], is broadcast,
// and so is a second one, as windows have biases of their relative positions besides; `cap` bounds
// the products before: cap * tanh(product / cap). k and v are read as they lie. Few rows: the
// products with k are one kernel, those with v another, and the scores are stored between them. Of
// many rows one kernel goes along k and v: a group of work-items holds the scores of a tile, and
// brings what it has summed up so far to the largest score that it met.
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
  for (size_t i = 3; i < std::max(inputs.size(), size_t{4}); ++i) {
    if (!ReadSizes(q.shape, graph->shape(inputs[1]), graph->shape(inputs[2]),
                   i < inputs.size() ? graph->shape(inputs[i]) : Shape(), layouts, &sizes)) {
      return InvalidModel("the shapes of its inputs do not fit each other");
    }
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
$for(i, rows) $into$i += a$i.x * b0 + a$i.y * b1 + a$i.z * b2 + a$i.w * b3;
)");

// Scores of four places. Where the mask leaves out all of them, it is what they are: k is not read.
// No score adds to a float below -1e38. Halves end at -65504, to which floats add: there the mask
// is told to be the score.
constexpr const char* kFourPlaces = QUADRA_TEXT(R"(
$for(i, 4) int place$i = min(slice * 4 + $i, places - 1);
int steps = q_s;
$if(masked)
ivec4 hides = ivec4(1);
$for(i, rows)
$if(whole) sum4_t mask$i = read_mask(token$i * mask_x, head$i * mask_y, batch * mask_z + slice);
$if(!whole) sum4_t mask$i = vec4(read_mask(token$i * mask_x, head$i * mask_y, batch * mask_z).x);
${more}ivec4 hides$i = is_less(mask$i, vec4($hidden));
hides = hides & hides$i;
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
$if(half) sum$i = choose(hides$i, mask$i, sum$i);
$end
)");
constexpr const char* kSecondMask = QUADRA_TEXT(R"(
$if(whole) sum4_t more$i = read_more(token$i * more_x, head$i * more_y, batch * more_z + slice);
$if(!whole) sum4_t more$i = vec4(read_more(token$i * more_x, head$i * more_y, batch * more_z).x);
mask$i += more$i;
)");
constexpr const char* kScores = QUADRA_TEXT(R"($tile
$four
$for(i, rows) if (x * $rows + $i < row_count) { write_dst(sum$i, row$i, y, s); }
)");

constexpr const char* kDropDeadLanes = QUADRA_TEXT(R"(
  if (rest < 2) { $lanes$i.y = $dead; }
  if (rest < 3) { $lanes$i.z = $dead; }
  if (rest < 4) { $lanes$i.w = $dead; }
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
// Many rows. A work-item has four rows, `quad`, and first the scores of four places of each tile of
// places, then the sums of four channels of v. The tile's weights are shared. No row's score is
// below the first `top`; one that is 110 below the largest weighs 0, and so do all of such a tile.
constexpr const char* kTiles = QUADRA_TEXT(R"(
int quad = LOCAL_X % $quads, column = LOCAL_X / $quads;
int channels = min(column, dst_s - 1);
int y = GLOBAL_Z % groups;
int batch = GLOBAL_Z / groups;
int first = (GLOBAL_Y * $quads + quad) * 4;
sum4_t top = vec4(-3.4028234e38f), total = vec4(0.0f);
$for(i, rows)
int row$i = min(first + $i, row_count - 1);
int head$i = y * sharing + row$i / tokens, token$i = row$i % tokens;
sum4_t made$i = vec4(0.0f);
$end
for (int start = 0; start < place_slices; start += $step) {
int slice = start + column;
int rest = places - slice * 4;
$for(i, rows) sum4_t sum$i = vec4(-3.4028234e38f);
if (rest > 0) {
$for(i, rows) sum$i = vec4(0.0f);
$four
$for(i, rows)
$lowest
$end
}
sum4_t most = top;
$for(i, rows) most.${i:x,y,z,w} = max(max(sum$i.x, sum$i.y), max(sum$i.z, sum$i.w));
part[LOCAL_X] = most;
GROUP_BARRIER();
most = part[quad];
for (int i = 1; i < $step; ++i) { most = max(most, part[i * $quads + quad]); }
ivec4 weighs_nothing = is_less(most, top - vec4(110.0f));
bool counts = weighs_nothing.x + weighs_nothing.y + weighs_nothing.z + weighs_nothing.w < 4;
if (counts) {
most = max(most, top);
top = exp(top - most);
total *= top;
$for(i, rows)
made$i *= top.${i:x,y,z,w};
sum$i = exp(sum$i - vec4(most.${i:x,y,z,w}));
if (rest < 1) { sum$i = vec4(0.0f); }
$zero
total.${i:x,y,z,w} += sum$i.x + sum$i.y + sum$i.z + sum$i.w;
weights[(column * 4 + $i) * $quads + quad] = sum$i;
$end
top = most;
}
GROUP_BARRIER();
int end = counts ? min($step, place_slices - start) : 0;
for (int k = 0; k < end; ++k) {
$for(i, rows) sum4_t a$i = weights[(k * 4 + $i) * $quads + quad];
if (a0.x == 0.0f) {
sum4_t all = vec4(0.0f);
$for(i, rows) all += a$i;
if (all.x + all.y + all.z + all.w == 0.0f) { continue; }
}
$for(i, 4) int at$i = min((start + k) * 4 + $i, places - 1);
$if(columns) $for(i, 4) sum4_t c$i = read_v(min(channels * 4 + $i, v_w - 1), y, batch * v_s + start + k);
$if(!columns)
$for(i, 4) sum4_t b$i = read_v(${v:at$i,y}, ${v:y,at$i}, batch * v_s + channels);
$end
$products}
}
part[LOCAL_X] = total;
GROUP_BARRIER();
total = vec4(0.0f);
for (int i = 0; i < $step; ++i) { total += part[i * $quads + quad]; }
if (column < dst_s) {
int s = batch * dst_s + column;
$for(i, rows)
if (first + $i < row_count) {
sum4_t sum$i = made$i / total.${i:x,y,z,w};
$write}
$end
}
)");

constexpr const char* kWrite =
    QUADRA_TEXT("write_dst(sum$i, ${out:token$i,head$i}, ${out:head$i,token$i}, s);\n");

constexpr int kGroup = 32;
constexpr int kFewItems = 1024;
// Fewer rows, or those of one token: groups of work-items that share places make the sums.
constexpr int kManyRows = 16;

// How a group of work-items divides a tile: so many rows, by four, and places or channels, by four.
struct Tile {
  int quads = 0, columns = 0;
  int items() const { return quads * columns; }
  // Four weights and a sum of each work-item.
  int64_t bytes() const { return int64_t{5} * items() * 16; }
};

bool Fits(const GpuInfo& gpu, const Tile& tile) {
  return tile.bytes() <= gpu.local_memory_bytes && tile.items() <= gpu.max_work_group_size &&
         tile.items() <= gpu.max_work_group[0];
}

// A tile of as many places as v has channels. One or two waves, whichever idles less.
Tile TileOf(const GpuInfo& gpu, const Sizes& sizes) {
  const int rows = sizes.shared * sizes.rows;
  const int64_t scores = int64_t{rows} * sizes.groups * sizes.places;
  Tile best;
  if (sizes.rows == 1 || rows < kManyRows || scores < gpu.cached_floats()) return best;
  for (int most : {64, 128}) {
    Tile tile;
    tile.columns = std::max(CeilDiv(sizes.depth, 4), 8);
    tile.quads = std::min(most / tile.columns, CeilDiv(rows, 4));
    if (Fits(gpu, tile) && tile.items() * 64 > best.items() * most) best = tile;
  }
  return best;
}

class Attention {
 public:
  Attention(const KernelContext& context, const Graph& graph, const Node& node, KernelList* list)
      : context_(context),
        graph_(graph),
        node_(node),
        layouts_(node.attributes.Ints("layouts")),
        sizes_(SizesOf(graph, node)),
        out_(graph.shape(node.outputs[0])),
        list_(*list) {}

  void Add() {
    const Tile tile = FitsOneKernel() ? TileOf(*context_.gpu, sizes_) : Tile();
    const int64_t trips = Trips(tile);
    if (tile.quads > 0 && trips <= context_.gpu->most_trips()) return AddTiles(tile, trips);
    rows_ = Rows() < 3 ? Rows() : 4;
    AddScores();
    AddValues();
  }

 private:
  int Rows() const { return sizes_.shared * sizes_.rows; }
  int Tiles() const { return CeilDiv(Rows(), rows_); }

  // The result and all operands are one kernel's: OpenGL ES promises four buffers.
  bool FitsOneKernel() const {
    const GpuInfo& gpu = *context_.gpu;
    const int tensors = static_cast<int>(node_.inputs.size()) + 1;
    return gpu.api != Api::kGles || tensors <= gpu.max_storage_blocks;
  }

  int64_t Trips(const Tile& tile) const {
    if (tile.quads == 0) return 0;
    const int steps = graph_.shape(node_.inputs[0]).slices();
    return int64_t{CeilDiv(CeilDiv(sizes_.places, 4), tile.columns)} * (steps + 2 * tile.columns);
  }

  void AddSizes(KernelDesc* desc) const {
    desc->Int("row_count", Rows());
    desc->Int("sharing", sizes_.shared);
    desc->Int("tokens", sizes_.rows);
    desc->Int("places", sizes_.places);
    desc->Int("groups", sizes_.groups);
  }

  // Whether it has a number for each place.
  bool AddMask(const char* name, ValueId id, KernelDesc* desc) const {
    const Shape& mask = graph_.shape(id);
    desc->Read(name, id);
    desc->Int(Format("%s_x", name), mask.w > 1);
    desc->Int(Format("%s_y", name), mask.h > 1);
    desc->Int(Format("%s_z", name), mask.b > 1 ? mask.slices() : 0);
    return mask.c == sizes_.places;
  }

  // The part of a kernel that makes scores, of rows in tiles of `rows_`.
  Text Scores(const char* text, KernelDesc* desc) const {
    desc->Read("q", node_.inputs[0]);
    desc->Read("key", node_.inputs[1]);
    const bool masked = node_.inputs.size() > 3, capped = node_.attributes.Has("cap");
    const bool whole = masked && AddMask("mask", node_.inputs[3], desc);
    std::string more;
    if (node_.inputs.size() > 4) {
      Text second(kSecondMask);
      more = second.Set("whole", AddMask("more", node_.inputs[4], desc)).str();
    }
    desc->Float("scale", node_.attributes.Float("scale"));
    if (capped) desc->Float("cap", node_.attributes.Float("cap"));
    Text four(kFourPlaces);
    four.Set("products", kAddProducts).Set("rows", rows_).Set("columns", 1).Set("into", "sum");
    four.Set("q", layouts_[0]).Set("key", layouts_[1]);
    const bool half = StoresHalf(context_.precision);
    four.Set("half", half && masked).Set("hidden", half ? "-65500.0f" : "-1.0e38f");
    four.Set("masked", masked).Set("whole", whole).Set("more", more).Set("capped", capped);
    Text scores(text);
    scores.Set("four", four.str()).Set("tile", kTile).Set("rows", rows_);
    return scores;
  }

  void SetValues(const char* into, const char* lanes, Text* text) const {
    const int columns = layouts_[2] == kColumns;
    Text sums(kAddProducts);
    sums.Set("rows", rows_).Set("columns", columns).Set("into", into);
    Text zero(kDropDeadLanes);
    text->Set("products", sums.str()).Set("columns", columns).Set("v", layouts_[2] == kRowsFirst);
    text->Set("zero", zero.Set("dead", "0.0f").Set("lanes", lanes).str());
    text->Set("write", kWrite).Set("out", layouts_[3]).Set("rows", rows_);
  }

  void AddTiles(const Tile& tile, int64_t trips) {
    rows_ = 4;
    KernelDesc& desc = list_.Add("attention_tiles");
    Text text = Scores(kTiles, &desc);
    SetValues("made", "sum", &text);
    Text lowest(kDropDeadLanes);
    text.Set("lowest", lowest.Set("dead", "-3.4028234e38f").Set("lanes", "sum").str());
    text.Set("quads", tile.quads).Set("step", tile.columns);
    desc.Read("v", node_.inputs[2]);
    desc.Write("dst", node_.outputs[0]);
    AddSizes(&desc);
    desc.Int("place_slices", CeilDiv(sizes_.places, 4));
    desc.trips = trips;
    desc.shared.push_back({"part", "sum4_t", tile.items()});
    desc.shared.push_back({"weights", "sum4_t", 4 * tile.items()});
    desc.body = text;
    desc.Grid(tile.items(), CeilDiv(Rows(), 4 * tile.quads), sizes_.groups * out_.b);
    desc.Group(tile.items(), 1, 1);
  }

  void Loop(const std::string& body, int slices, KernelDesc* desc) const {
    Loops loops;
    loops.limits[0] = "tiles";
    loops.limits[1] = "groups";
    loops.pixel = body.c_str();
    loops.work = 32;
    LoopOver(context_, Tiles(), sizes_.groups, slices * out_.b, loops, desc);
  }

  void AddScores() {
    scored_.b = out_.b, scored_.h = sizes_.groups, scored_.w = Rows(), scored_.c = sizes_.places;
    scores_ = list_.AddScratch(scored_);
    KernelDesc& desc = list_.Add("attention_scores");
    Text text = Scores(kScores, &desc);
    desc.Write("dst", scores_);
    AddSizes(&desc);
    desc.Int("tiles", Tiles());
    desc.trips = graph_.shape(node_.inputs[0]).slices();
    Loop(text.str(), scored_.slices(), &desc);
  }

  void AddValues() {
    const int results = Tiles() * sizes_.groups * out_.slices() * out_.b;
    const bool group = context_.gpu->divides_reductions_by(kGroup) && results <= kFewItems;
    if (!group) {
      const int weights = list_.AddScratch(scored_);
      AddSoftmax(context_, scores_, weights, scored_, /*beta=*/1.0f, &list_);
      scores_ = weights;
    }
    Text text(kValues);
    SetValues("sum", "a", &text);
    Text largest(kDropDeadLanes);
    text.Set("largest", largest.Set("dead", "a$i.x").Set("lanes", "a").str());
    text.Set("tile", kTile).Set("group", group);
    text.Set("begin", group ? "LOCAL_X" : "0").Set("step", group ? kGroup : 1);
    KernelDesc& desc = list_.Add(group ? "attention_values_group" : "attention_values");
    desc.Read("scores", scores_);
    desc.Read("v", node_.inputs[2]);
    desc.Write("dst", node_.outputs[0]);
    AddSizes(&desc);
    desc.Int("tiles", Tiles());
    desc.trips = scored_.slices();
    if (!group) return Loop(text.str(), out_.slices(), &desc);
    desc.trips = 2 * desc.trips / kGroup + int64_t{6} * kGroup;
    desc.shared.push_back({"part", "sum4_t", kGroup});
    desc.body = text;
    desc.Grid(kGroup, Tiles(), sizes_.groups * out_.slices() * out_.b);
    desc.Group(kGroup, 1, 1);
  }

  const KernelContext& context_;
  const Graph& graph_;
  const Node& node_;
  const std::vector<int>& layouts_;
  const Sizes sizes_;
  const Shape& out_;
  KernelList& list_;
  int rows_ = 4;  // of a work-item
  Shape scored_;
  int scores_ = -1;
};

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  Attention(context, graph, node, list).Add();
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

// odml.sdpa_transposed, as litert-torch's generative/export_hf/experimental/composites/sdpa.py has
// it: q has its factor already, the rows of v are columns of the cache. The mask says who counts:
// others get a score of -10000 there, and the least number here, a weight of 0 both.
Status ImportCachedAttention(const FlexMap& attributes, Importer* importer, ValueId* result) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(4, 5));
  int k_axis, v_axis;
  QUADRA_RETURN_IF_ERROR(attributes.Place("k_ts_idx", &k_axis));
  QUADRA_RETURN_IF_ERROR(attributes.Place("v_ts_idx", &v_axis));
  float cap = 1.0f;
  const bool has_cap = attributes.Has("softcap");
  if (has_cap) QUADRA_RETURN_IF_ERROR(attributes.Float("softcap", &cap));
  const size_t known = 2 + attributes.Has("is_causal") + attributes.Has("from_cache_update");
  if (attributes.size() != known + has_cap || !(cap > 0.0f)) {
    return Unsupported("it has attributes that are not known, or a softcap of 0");
  }
  const std::vector<int> layouts = {kHeadsFirst, kHeadsFirst, v_axis == 3 ? kColumns : kHeadsFirst,
                                    kHeadsFirst};
  Shape shapes[4];
  std::vector<ValueId> values(4);
  bool fits = k_axis == 2 && (v_axis == 2 || v_axis == 3);
  for (int i = 0; i < 4; ++i) {
    int rank;
    QUADRA_RETURN_IF_ERROR(importer->InputShape(i, &shapes[i], &rank));
    const Elements elements = i < 3 ? kFloats : kBools;
    QUADRA_RETURN_IF_ERROR(importer->Operand(i, &values[static_cast<size_t>(i)], elements));
    fits &= rank == 4;
  }
  Sizes sizes;
  if (!fits || !ReadSizes(shapes[0], shapes[1], shapes[2], shapes[3], layouts, &sizes)) {
    return Unsupported("the shapes of its inputs do not fit each other, or its attributes");
  }
  const ValueId counts = importer->AddConstant(Shape(), {0.0f});
  const ValueId hides = importer->AddConstant(Shape(), {-3.4028234e38f});
  values[3] = importer->AddInnerNode("select", {values[3], counts, hides}, {});
  Attributes how;
  how.SetFloat("scale", 1.0f);
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
