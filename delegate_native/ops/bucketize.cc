// BUCKETIZE: how many of the boundaries, which rise, are not above a number. NaN is beyond all.
#include <algorithm>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  const TfLiteBucketizeParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kFloats | kInts));
  if (params->num_boundaries < 1 || !params->boundaries) {
    return Unsupported("it has no boundaries");
  }
  std::vector<float> boundaries(params->boundaries, params->boundaries + params->num_boundaries);
  if (!std::is_sorted(boundaries.begin(), boundaries.end())) {
    return InvalidModel("its boundaries do not rise");
  }
  Attributes attributes;
  attributes.SetFloats("boundaries", std::move(boundaries));
  return importer->AddNode("bucketize", {src}, std::move(attributes));
}

constexpr const char* kPixel = QUADRA_TEXT(R"(
vec4 v = $read;
ivec4 beyond = ivec4(0);
for (int i = 0; i < count; ++i) { beyond += is_less(v, vec4(read_boundaries(i))); }
write_dst(ivec4(count) - beyond, x, y, s);
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& in = graph.value(node.inputs[0]);
  const std::vector<float>& boundaries = node.attributes.Floats("boundaries");
  KernelDesc& desc = list->Add("bucketize");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  desc.Constant("boundaries", boundaries, 1);
  desc.Int("count", static_cast<int>(boundaries.size()));
  desc.trips = static_cast<int64_t>(boundaries.size());
  Text text(kPixel);
  text.Set("read", IsFloat(in.element) ? QUADRA_TEXT("read_src(x, y, s)")
                                       : QUADRA_TEXT("to_float(read_src(x, y, s))"));
  const std::string body = text;
  LoopOverResults(context, in.shape, "", body.c_str(), &desc);
  return Status();
}

}  // namespace

extern const Op kBucketizeOp;
const Op kBucketizeOp = {
    .name = "bucketize",
    .builtins = {kTfLiteBuiltinBucketize, -1},
    .max_version = 1,
    .params_bytes = sizeof(TfLiteBucketizeParams),
    .attributes = QUADRA_TEXT("boundaries"),
    .import = Import,
    .shape = SameShape,
    .kernels = Kernels,
    .result = Result::kDeclared,
    .max_rank = kMostRank,
    .jumps = true,
    .makes_places = true,
};

}  // namespace quadra
