// Ops that divide by a measure of the channels around: L2_NORMALIZATION (their length),
// LOCAL_RESPONSE_NORMALIZATION (their power nearby).
#include <algorithm>

#include "delegate_native/base/texts.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/grid.h"

namespace quadra {
namespace {

Status ImportLength(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  const TfLiteL2NormParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  return importer->AddNode("l2_normalize", {src}, {}, params->activation);
}

Status ImportResponse(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  const TfLiteLocalResponseNormParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  Attributes attributes;
  attributes.SetInt("radius", std::min(std::max(params->radius, 0), 1 << 20));
  attributes.SetFloat("bias", params->bias);
  attributes.SetFloat("alpha", params->alpha);
  attributes.SetFloat("beta", params->beta);
  return importer->AddNode("local_response", {src}, std::move(attributes));
}

// The length is of numbers that are scaled by the largest, so that no square overflows. Beside an
// infinite one the others are 0, as on the CPU; NaN makes NaN of all.
constexpr const char* kLength = QUADRA_TEXT(R"(
    int first = s * src_s;
    sum4_t top = vec4(0.0f);
    for (int i = 0; i < src_s; ++i) { top = max(top, max(read_src(x, y, first + i), -read_src(x, y, first + i))); }
    sum_t most = max(max(top.x, top.y), max(top.z, top.w));
    sum_t scale = most > 0.0f && most < 3.4e38f ? most : 1.0f;
    sum4_t sum = vec4(0.0f);
    for (int i = 0; i < src_s; ++i) {
      sum4_t v = read_src(x, y, first + i) / vec4(scale);
      sum += v * v;
    }
    vec4 length = above(vec4(sqrt(sum.x + sum.y + sum.z + sum.w)), vec4(0.000001f / scale));
    for (int i = 0; i < src_s; ++i) {
      sum4_t v = read_src(x, y, first + i) / vec4(scale);
      write_dst(v / length, x, y, first + i);
    }
)");

// The window of a channel reaches from `radius` before it to as many behind it.
constexpr const char* kResponse = QUADRA_TEXT(R"(
    int batch = s / dst_s;
    int from = (s - batch * dst_s) * 4;
    sum4_t power_near = vec4(0.0f);
    for (int i = -radius; i < radius + 4; ++i) {
      int c = from + i;
      if (c >= 0 && c < src_c) {
        sum_t n = lane(read_src(x, y, batch * src_s + c / 4), c % 4);
        n = n * n;
        ivec4 apart = ivec4(i, i - 1, i - 2, i - 3);
        ivec4 is_near = is_at_most(apart, ivec4(radius)) & is_at_most(ivec4(-radius), apart);
        power_near += choose(is_near, vec4(n), vec4(0.0f));
      }
    }
    vec4 v = read_src(x, y, s) * power(vec4(bias) + vec4(alpha) * power_near, vec4(-beta));
    write_dst(v, x, y, s);
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& shape = graph.shape(node.outputs[0]);
  KernelDesc& desc = list->Add(node.op.c_str());
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  if (node.op != "local_response") {
    LoopOverPixels(context, shape, kLength, 3, &desc);
    return Status();
  }
  const int radius = node.attributes.Int("radius");
  desc.Int("radius", radius);
  for (const char* name : {"bias", "alpha", "beta"}) desc.Float(name, node.attributes.Float(name));
  desc.trips = int64_t{2} * radius + 5;
  LoopOverResults(context, shape, "", kResponse, &desc);
  return Status();
}

}  // namespace

extern const Op kL2NormalizeOp;
const Op kL2NormalizeOp = {
    .name = "l2_normalize",
    .builtins = {kTfLiteBuiltinL2Normalization, -1},
    .max_version = 2,
    .params_bytes = sizeof(TfLiteL2NormParams),
    .import = ImportLength,
    .shape = SameShape,
    .kernels = Kernels,
    .max_rank = kMostRank,
};

extern const Op kLocalResponseOp;
const Op kLocalResponseOp = {
    .name = "local_response",
    .builtins = {kTfLiteBuiltinLocalResponseNormalization, -1},
    .max_version = 1,
    .params_bytes = sizeof(TfLiteLocalResponseNormParams),
    .attributes = QUADRA_TEXT("radius bias alpha beta"),
    .import = ImportResponse,
    .shape = SameShape,
    .kernels = Kernels,
};

}  // namespace quadra
