// SOFTMAX: exp(beta * x) over its sum along the last axis, for any shape; LOG_SOFTMAX: its
// logarithm (beta is 1). The largest element is taken off first, so that nothing overflows.
#include "delegate_native/ops/softmax.h"

#include <utility>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/composites.h"
#include "delegate_native/ops/grid.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  const TfLiteSoftmaxParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  Attributes attributes;
  attributes.SetFloat("beta", params->beta);
  return importer->AddNode("softmax", {src}, std::move(attributes));
}

Status ImportLog(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  return importer->AddNode("log_softmax", {src}, {});
}

// Lanes that hold no channel are never above the maximum, so that nothing becomes infinite there.
// The last slice, the only one with such lanes, is kept apart: often it is the only one.
constexpr const char* kFindTop = QUADRA_TEXT(R"(
    int first = s * src_s;
    int last = first + src_s - 1;
    int rest = src_c - src_s * 4 + 4;
    vec4 tail = read_src(x, y, last);
    if (rest < 2) { tail.y = tail.x; }
    if (rest < 3) { tail.z = tail.x; }
    if (rest < 4) { tail.w = tail.x; }
    vec4 most = tail;
    for (int i = first; i < last; ++i) { most = max(most, read_src(x, y, i)); }
    vec4 top = vec4(max(max(most.x, most.y), max(most.z, most.w)));
)");
constexpr const char* kDropDeadLanes = QUADRA_TEXT(R"(
    if (rest < 2) { sum.y = 0.0f; }
    if (rest < 3) { sum.z = 0.0f; }
    if (rest < 4) { sum.w = 0.0f; }
)");

constexpr const char* kPixel = QUADRA_TEXT(R"($top
    tail = exp((tail - top) * vec4(beta));
    sum4_t sum = tail;
$drop
    for (int i = first; i < last; ++i) { sum += exp((read_src(x, y, i) - top) * vec4(beta)); }
    sum4_t scale = vec4(1.0f / (sum.x + sum.y + sum.z + sum.w));
    for (int i = first; i < last; ++i) {
      vec4 v = exp((read_src(x, y, i) - top) * vec4(beta)) * scale;
      write_dst(v, x, y, i);
    }
    write_dst(tail * scale, x, y, last);
)");
constexpr const char* kLogPixel = QUADRA_TEXT(R"(${top}sum4_t sum = exp(tail - top);
$drop
    for (int i = first; i < last; ++i) { sum += exp(read_src(x, y, i) - top); }
    vec4 shift = top + log(vec4(sum.x + sum.y + sum.z + sum.w));
    for (int i = first; i < last; ++i) { write_dst(read_src(x, y, i) - shift, x, y, i); }
    write_dst(tail - shift, x, y, last);
)");

// A group of 32 for each pixel, for GPUs when pixels are few and channels many (classifiers).
constexpr const char* kReadSlice = QUADRA_TEXT(R"(
  vec4 v = read_src(x, y, first + i);
  int rest = src_c - i * 4;
  if (rest < 2) { v.y = v.x; }
  if (rest < 3) { v.z = v.x; }
  if (rest < 4) { v.w = v.x; }
)");
constexpr const char* kGroupBody = QUADRA_TEXT(R"(
int x = GLOBAL_Y;
int y = GLOBAL_Z % src_h;
int first = GLOBAL_Z / src_h * src_s;
float top = read_src(x, y, first).x;
for (int i = LOCAL_X; i < src_s; i += 32) {
${slice}top = max(top, max(max(v.x, v.y), max(v.z, v.w)));
}

part[LOCAL_X] = top;
GROUP_BARRIER();
for (int i = 0; i < 32; ++i) { top = max(top, part[i]); }
GROUP_BARRIER();
sum_t sum = 0.0f;
for (int i = LOCAL_X; i < src_s; i += 32) {
$slice
  v = exp((v - vec4(top)) * vec4(beta));
  sum += v.x;
  if (rest > 1) { sum += v.y; }
  if (rest > 2) { sum += v.z; }
  if (rest > 3) { sum += v.w; }
}

part[LOCAL_X] = sum;
GROUP_BARRIER();
sum = 0.0f;
for (int i = 0; i < 32; ++i) { sum += part[i]; }
for (int i = LOCAL_X; i < src_s; i += 32) {
$slice
  v = exp((v - vec4(top)) * vec4(beta)) / vec4(sum);
  write_dst(v, x, y, first + i);
}
)");

std::string Pixel(const char* text) {
  return Text(text).Set("top", kFindTop).Set("drop", kDropDeadLanes);
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  AddSoftmax(context, node.inputs[0], node.outputs[0], graph.shape(node.outputs[0]),
             node.attributes.Float("beta"), list);
  return Status();
}

Status LogKernels(const KernelContext& context, const Graph& graph, const Node& node,
                  KernelList* list) {
  KernelDesc& desc = list->Add("log_softmax");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  LoopOverPixels(context, graph.shape(node.outputs[0]), Pixel(kLogPixel).c_str(), 3, &desc);
  return Status();
}

}  // namespace

void AddSoftmax(const KernelContext& context, int from, int to, const Shape& shape, float beta,
                KernelList* list) {
  const int pixels = shape.b * shape.h * shape.w;
  const int64_t trips = int64_t{3} * shape.slices();  // of one work-item
  const bool group = context.gpu->divides_reductions_by(32) && shape.slices() >= 32 &&
                     (pixels <= 1024 || trips > context.gpu->most_trips());
  KernelDesc& desc = list->Add(group ? "softmax_group" : "softmax");
  desc.Read("src", from);
  desc.Write("dst", to);
  desc.Float("beta", beta);
  if (group) {
    desc.trips = trips / 32 + 100;
    desc.shared.push_back({"part", "sum_t", 32});
    desc.body = Text(kGroupBody).Set("slice", kReadSlice);
    desc.Grid(32, shape.w, shape.h * shape.b);
    desc.Group(32, 1, 1);
    return;
  }
  LoopOverPixels(context, shape, Pixel(kPixel).c_str(), 3, &desc);
}

Status ImportSoftmax(const FlexMap& attributes, Importer* importer, ValueId* result) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  float axis;
  QUADRA_RETURN_IF_ERROR(attributes.Float("axis", &axis));
  const float last = static_cast<float>(importer->InputRank(0) - 1);
  if (attributes.size() != 1 || (axis != -1.0f && axis != last)) {
    return Unsupported("it has attributes other than an axis, which is the last one");
  }
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  Attributes beta;
  beta.SetFloat("beta", 1.0f);
  *result = importer->AddInnerNode("softmax", {src}, std::move(beta));
  return Status();
}

extern const Op kSoftmaxOp;
const Op kSoftmaxOp = {
    .name = "softmax",
    .builtins = {kTfLiteBuiltinSoftmax, -1},
    .max_version = 4,
    .params_bytes = sizeof(TfLiteSoftmaxParams),
    .attributes = QUADRA_TEXT("beta"),
    .import = Import,
    .shape = SameShape,
    .kernels = Kernels,
    .max_rank = kMostRank,
};

extern const Op kLogSoftmaxOp;
const Op kLogSoftmaxOp = {
    .name = "log_softmax",
    .builtins = {kTfLiteBuiltinLogSoftmax, -1},
    .max_version = 2,
    .import = ImportLog,
    .shape = SameShape,
    .kernels = LogKernels,
    .max_rank = kMostRank,
};

}  // namespace quadra
