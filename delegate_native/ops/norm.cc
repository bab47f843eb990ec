// Normalization of a pixel's channels to a mean square of 1 (RMSNorm), or, `centered`, to a mean of
// 0 and a variance of 1 (LayerNorm); epsilon is added to the mean square. Factors and terms of
// channels are steps behind it. Converters write it as a dozen nodes (passes/fuse_norm.cc) or as
// the composite odml.rms_norm. Sums are floats in every precision.
#include "delegate_native/ops/norm.h"

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/composites.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

constexpr int kGroup = 32;  // work-items that share a pixel

constexpr const char* kRead = QUADRA_TEXT(R"(
  sum4_t v = read_src(x, y, first + i);
$if(centered)
  v -= center;
  int rest = src_c - i * 4;
  if (rest < 2) { v.y = 0.0f; }
  if (rest < 3) { v.z = 0.0f; }
  if (rest < 4) { v.w = 0.0f; }
$end
)");
// The mean of the lanes of all slices, as `mean`.
constexpr const char* kMean = QUADRA_TEXT(R"(
mean = (sum.x + sum.y + sum.z + sum.w) / count;
$if(group)
part[LOCAL_X] = mean;
GROUP_BARRIER();
mean = 0.0f;
for (int i = 0; i < $step; ++i) { mean += part[i]; }
GROUP_BARRIER();
$end
)");
constexpr const char* kEach = QUADRA_TEXT(R"(
$read
  write_dst(v * scale, x, y, first + i);
)");
constexpr const char* kBody = QUADRA_TEXT(R"($if(group)
int x = GLOBAL_Y;
int y = GLOBAL_Z % src_h;
int first = GLOBAL_Z / src_h * src_s;
$end
$if(!group) int first = s * src_s;
sum_t mean;
sum4_t sum = vec4(0.0f);
$if(centered)
for (int i = $begin; i < src_s; i += $step) { sum += read_src(x, y, first + i); }
$mean
sum = vec4(0.0f);
sum_t center = mean;
$end
for (int i = $begin; i < src_s; i += $step) {
$read
  sum += v * v;
}
$mean
sum_t scale = 1.0f / sqrt(mean + epsilon);
for (int i = $begin; i < $limit; i += $step) {$each}
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  KernelDesc& desc = list->Add("norm");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  MakeNorm(context, graph.shape(node.outputs[0]), node.attributes, "src_s", kEach, &desc);
  desc.reads_own = !desc.shared.empty();
  return Status();
}

}  // namespace

void MakeNorm(const KernelContext& context, const Shape& shape, const Attributes& attributes,
              const char* limit, const char* each, KernelDesc* kernel) {
  KernelDesc& desc = *kernel;
  const bool centered = attributes.Int("centered", 0) != 0;
  const int sweeps = centered ? 3 : 2;
  const int pixels = shape.b * shape.h * shape.w;
  const int64_t trips = int64_t{sweeps} * shape.slices();
  const bool group = context.gpu->divides_reductions_by(kGroup) && shape.slices() >= kGroup &&
                     (pixels <= 1024 || trips > context.gpu->most_trips());
  desc.Float("epsilon", attributes.Float("epsilon"));
  desc.Float("count", static_cast<float>(shape.c));
  Text text(kBody);
  text.Set("mean", kMean).Set("each", each).Set("read", kRead).Set("limit", limit);
  text.Set("group", group).Set("centered", centered);
  text.Set("begin", group ? "LOCAL_X" : "0").Set("step", group ? kGroup : 1);
  if (group) {
    desc.name += "_group";
    desc.trips = trips / kGroup + int64_t{sweeps} * kGroup;
    desc.shared.push_back({"part", "sum_t", kGroup});
    desc.body = text;
    desc.Grid(kGroup, shape.w, shape.h * shape.b);
    desc.Group(kGroup, 1, 1);
    return;
  }
  const std::string pixel = text;
  LoopOverPixels(context, shape, pixel.c_str(), sweeps, &desc);
}

Status ImportRmsNorm(const FlexMap& attributes, Importer* importer, ValueId* result) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  float epsilon;
  QUADRA_RETURN_IF_ERROR(attributes.Float("epsilon", &epsilon));
  if (attributes.size() != 1 || !(epsilon >= 0.0f)) {
    return Unsupported("it has attributes other than an epsilon of 0 or more");
  }
  ValueId src, scale;
  Shape shape, factors;
  int rank;
  QUADRA_RETURN_IF_ERROR(importer->InputShape(0, &shape, &rank));
  QUADRA_RETURN_IF_ERROR(importer->InputShape(1, &factors, &rank));
  if (factors.c != shape.c || factors.elements() != shape.c) {
    return Unsupported("the shapes of its inputs do not fit each other");
  }
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &scale));
  Attributes how;
  how.SetFloat("epsilon", epsilon);
  *result = importer->AddInnerNode(
      "mul", {importer->AddInnerNode("norm", {src}, std::move(how)), scale}, {});
  return Status();
}

extern const Op kNormOp;
const Op kNormOp = {
    .name = "norm",
    .attributes = QUADRA_TEXT("epsilon"),
    .shape = SameShape,
    .kernels = Kernels,
    .max_rank = kMostRank,
};

}  // namespace quadra
