// Normalization to a mean of 0 and a variance of 1 over several pixels, the last `axes` axes
// without the channels (2: of a row; 3: of a batch item; 4: of all batches in a place of the outer
// axes), each of `groups` groups of channels by itself. Factors and terms of channels are steps
// behind it. Converters write it as means and roots (passes/fuse_norm.cc) or as the composite
// odml.group_norm. Sums are floats in every precision.
#include <utility>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/composites.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

// How many work-items share the pixels; 1: their sums cannot be shared.
int ItemsFor(const GpuInfo& gpu, int pixels) {
  if (pixels >= 4096 && gpu.divides_reductions_by(256)) return 256;
  return gpu.divides_reductions_by(64) ? 64 : 1;
}

Status InferShape(Graph* graph, const Node& node) {
  const Shape& shape = graph->shape(node.inputs[0]);
  const int groups = node.attributes.Int("groups"), axes = node.attributes.Int("axes");
  if (groups < 1 || shape.c % groups != 0) {
    return InvalidModel("%d channels are no %d groups", shape.c, groups);
  }
  if (axes < 2 || axes > 4) return InvalidModel("it normalizes over %d axes", axes);
  return SameShape(graph, node);
}

// A sweep over a work-item's part of the numbers; what lies beyond a group's lanes is 0. A pixel's
// place follows from the last one's: GPUs divide slowly.
constexpr const char* kSweep = QUADRA_TEXT(R"(
for (int k = 0; k < slices; ++k) {
$if(mixed) ivec4 of = (ivec4(k * 4) + ivec4(0, 1, 2, 3)) / ivec4(size);
$if(flat)
int px = $begin % src_w;
int py = $begin / src_w;
$end
for (int p = $begin; p < pixels; p += $step) {
$if(planes)
int px = p % src_w;
int at = first + k + p / src_w / src_h * src_s;
int py = p / src_w % src_h;
$end
$if(rows)
int px = p;
int py = top;
$end
$if(!planes) int at = first + k;
sum4_t v = read_src(px, py, at);
$for(j, groups)
sum4_t v$j = v - center$j;
$if(mixed)
$for(l, 4) if (of.${l:x,y,z,w} != $j) { v$j.${l:x,y,z,w} = 0.0f; }
$end
$end
$use
$if(flat)
px += step_w;
py += step_h;
if (px >= src_w) { px -= src_w; py += 1; }
$end
}
}
)");
// The means of what the work-items have added.
constexpr const char* kMeans = QUADRA_TEXT(R"(
$for(j, groups)
sum$j /= count;
$if(shared)
part[LOCAL_X] = sum$j;
GROUP_BARRIER();
sum$j = 0.0f;
for (int i = 0; i < $step; ++i) { sum$j += part[i]; }
GROUP_BARRIER();
$end
$end
)");
// `groups` are as many as end with a slice.
constexpr const char* kBody = QUADRA_TEXT(R"($if(shared)
int chunk = GLOBAL_Y;
int region = GLOBAL_Z;
$end
$if(!shared)
int chunk = x;
int region = y;
$end
$if(rows)
int top = region % src_h;
int first = region / src_h * src_s + chunk * chunk_s;
int pixels = src_w;
$end
$if(!rows)
int first = region * $depth * src_s + chunk * chunk_s;
int pixels = src_w * src_h * $depth;
$end
int slices = min(chunk_s, src_s - chunk * chunk_s);
$for(j, groups)
sum_t center$j = 0.0f;
sum_t sum$j = 0.0f;
$end
$sum
$means
$for(j, groups)
center$j = sum$j;
sum$j = 0.0f;
$end
$square
$means
$for(j, groups) sum_t scale$j = 1.0f / sqrt(sum$j + epsilon);
$write
)");

// `mixed`: slices have lanes of several groups, or of none.
std::string Body(int items, int axes, int groups, bool mixed) {
  const bool shared = items > 1;
  Text sum(kSweep), square(kSweep), write(kSweep), body(kBody);
  sum.Set("use", QUADRA_TEXT("$for(j, groups) sum$j += v$j.x + v$j.y + v$j.z + v$j.w;\n"));
  square.Set("use", QUADRA_TEXT("$for(j, groups) sum$j += dot(v$j, v$j);\n"));
  write.Set("use", QUADRA_TEXT("v = vec4(0.0f);\n$for(j, groups) v += v$j * scale$j;\n"
                               "write_dst(v, px, py, at);\n"));
  for (Text* text : {&sum, &square, &write, &body}) {
    text->Set("groups", groups).Set("shared", shared);
    text->Set("rows", axes == 2).Set("planes", axes == 4).Set("flat", axes == 3);
    text->Set("mixed", mixed);
    text->Set("begin", shared ? "LOCAL_X" : "0").Set("step", items);
  }
  body.Set("sum", sum.str()).Set("square", square.str()).Set("write", write.str());
  return body.Set("means", kMeans).Set("depth", axes == 4 ? "depth" : "1");
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& shape = graph.shape(node.outputs[0]);
  const int size = shape.c / node.attributes.Int("groups");
  const int axes = node.attributes.Int("axes"), depth = axes == 4 ? shape.inner_b() : 1;
  int groups = 1;
  while (node.attributes.Int("groups") > 1 && size * groups % 4 != 0) groups *= 2;
  const int chunk = CeilDiv(size * groups, 4), chunks = CeilDiv(shape.slices(), chunk);
  const int pixels = axes == 2 ? shape.w : shape.w * shape.h * depth;
  const int regions = axes == 2 ? shape.b * shape.h : shape.b / depth;
  const int items = ItemsFor(*context.gpu, pixels);
  KernelDesc& desc = list->Add("group_norm");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  desc.Float("epsilon", node.attributes.Float("epsilon"));
  desc.Float("count", static_cast<float>(pixels) * static_cast<float>(size));
  desc.Int("size", size);
  desc.Int("chunk_s", chunk);
  if (axes == 4) desc.Int("depth", depth);
  desc.trips = 3 * int64_t{chunk} * CeilDiv(pixels, items) + int64_t{2} * groups * items;
  if (axes == 3) {
    desc.Int("step_w", items % shape.w);
    desc.Int("step_h", items / shape.w);
  }
  const std::string body = Body(items, axes, groups, size % 4 != 0);
  if (items > 1) {
    desc.shared.push_back({"part", "sum_t", items});
    desc.body = body;
    desc.Grid(items, chunks, regions);
    desc.Group(items, 1, 1);
    return Status();
  }
  desc.Int("chunks", chunks);
  desc.Int("regions", regions);
  Loops loops;
  loops.limits[0] = "chunks";
  loops.limits[1] = "regions";
  loops.limits[2] = "1";
  loops.pixel = body.c_str();
  loops.work = 4 * chunk * pixels;
  LoopOver(context, chunks, regions, 1, loops, &desc);
  return Status();
}

// A composite's attributes: LayerNorm of the last axis where `groups` is 0.
struct Asked {
  float epsilon;
  int groups = 0;
};

// The axes that it goes over, where it says so: 1 of the last, `rank` - 1 of all but the batch.
Status ReadSpan(const FlexMap& attributes, int rank, int* count) {
  constexpr const char* kTensor = "_TENSOR_V1_reduction_axes";
  std::vector<int> axes;
  if (attributes.Has("reduction_axes")) {
    axes.resize(1);
    QUADRA_RETURN_IF_ERROR(attributes.Place("reduction_axes", &axes[0]));
  } else if (attributes.Has(kTensor)) {
    FlexMap tensor;
    QUADRA_RETURN_IF_ERROR(attributes.Inner(kTensor, &tensor));
    QUADRA_RETURN_IF_ERROR(tensor.Places("TENSOR_DATA", &axes));
  }
  *count = static_cast<int>(axes.size());
  bool are_last = *count == 0 || *count == 1 || *count == rank - 1;
  for (int i = 0; i < *count; ++i) are_last &= axes[static_cast<size_t>(i)] == rank - *count + i;
  return are_last ? Status() : Unsupported("it goes over other axes than the last ones");
}

// The name is that of two functions. litert-torch, which writes it, and ML Drift, which reads it,
// tell them apart by the attributes; where they do not agree, the decomposition says which.
Status ReadAsked(const FlexMap& attributes, int rank, Asked* asked) {
  size_t known = 1;
  for (const char* name :
       {"num_groups", "channel_axis", "sub_type", "reduction_axes", "_TENSOR_V1_reduction_axes"}) {
    known += attributes.Has(name);
  }
  QUADRA_RETURN_IF_ERROR(attributes.Float("epsilon", &asked->epsilon));
  if (attributes.size() != known || !(asked->epsilon >= 0.0f)) {
    return Unsupported("it has attributes that are not known, or an epsilon below 0");
  }
  float axis = -1.0f, type = -1.0f;
  if (attributes.Has("channel_axis")) {
    QUADRA_RETURN_IF_ERROR(attributes.Float("channel_axis", &axis));
  }
  if (axis != -1.0f && axis != static_cast<float>(rank - 1)) {
    return Unsupported("its channels are not the last axis");
  }
  int axes, groups = 0;
  QUADRA_RETURN_IF_ERROR(ReadSpan(attributes, rank, &axes));
  if (attributes.Has("sub_type")) QUADRA_RETURN_IF_ERROR(attributes.Float("sub_type", &type));
  if (attributes.Has("num_groups")) {
    QUADRA_RETURN_IF_ERROR(attributes.Size("num_groups", &groups));
  }
  if (type == 1.0f ? groups <= 1 && axes <= 1 : type == -1.0f && groups == 0 && axes == 0) {
    return Status();  // of one pixel's channels
  }
  asked->groups = groups;
  const bool is_group_norm = type == 0.0f ? axes != 1 || rank == 2 : type == -1.0f && axes == 1;
  return groups > 0 && is_group_norm
             ? Status()
             : Unsupported("its attributes do not say whether it is LayerNorm or GroupNorm");
}

// More numbers of a group than GPUs may loop over.
bool IsTooLarge(const Shape& shape, int groups) {
  return int64_t{shape.inner_b()} * shape.h * shape.w * (shape.c / groups / 4 + 4) > 600000;
}

Status AddNorm(const Asked& asked, Importer* importer, ValueId src, ValueId* result) {
  Shape shape;
  int rank;
  QUADRA_RETURN_IF_ERROR(importer->InputShape(0, &shape, &rank));
  Attributes how;
  how.SetFloat("epsilon", asked.epsilon);
  if (asked.groups == 0) {
    how.SetInt("centered", 1);
    *result = importer->AddInnerNode("norm", {src}, std::move(how));
    return Status();
  }
  how.SetInt("groups", asked.groups);
  how.SetInt("axes", rank - 1);
  *result = importer->AddInnerNode("group_norm", {src}, std::move(how));
  return Status();
}

}  // namespace

Status ImportGroupNorm(const FlexMap& attributes, Importer* importer, ValueId* result) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 3));
  Shape shape, operand;
  int rank, operand_rank;
  QUADRA_RETURN_IF_ERROR(importer->InputShape(0, &shape, &rank));
  Asked asked;
  QUADRA_RETURN_IF_ERROR(ReadAsked(attributes, rank, &asked));
  if (asked.groups > 0 &&
      (rank < 3 || rank > 5 || shape.c % asked.groups != 0 || IsTooLarge(shape, asked.groups))) {
    return Unsupported("groups of such an input are not supported");
  }
  std::vector<ValueId> values(static_cast<size_t>(importer->num_inputs()), -1);
  for (int i = 0; i < importer->num_inputs(); ++i) {
    if (!importer->HasInput(i)) continue;
    QUADRA_RETURN_IF_ERROR(importer->InputShape(i, &operand, &operand_rank));
    if (i > 0 && (operand.c != shape.c || operand.elements() != shape.c)) {
      return Unsupported("the shapes of its inputs do not fit each other");
    }
    QUADRA_RETURN_IF_ERROR(importer->Operand(i, &values[static_cast<size_t>(i)]));
  }
  QUADRA_RETURN_IF_ERROR(AddNorm(asked, importer, values[0], result));
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] < 0) continue;
    *result = importer->AddInnerNode(i == 1 ? "mul" : "add", {*result, values[i]}, {});
  }
  return Status();
}

extern const Op kGroupNormOp;
const Op kGroupNormOp = {
    .name = "group_norm",
    .attributes = QUADRA_TEXT("epsilon groups axes"),
    .shape = InferShape,
    .kernels = Kernels,
    .max_rank = kMostRank,
};

}  // namespace quadra
