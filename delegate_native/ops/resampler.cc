// The custom op Resampler: an image sampled at places x, y that the second input tells for each
// result, between its four pixels. What lies outside the image is 0.
#include "delegate_native/base/texts.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  std::vector<ValueId> inputs(2);
  for (int i = 0; i < 2; ++i) {
    QUADRA_RETURN_IF_ERROR(importer->Operand(i, &inputs[static_cast<size_t>(i)]));
    if (importer->InputRank(i) != 4) {
      return Unsupported("its input %d has rank %d; rank 4 is supported", i,
                         importer->InputRank(i));
    }
  }
  return importer->AddNode("resampler", std::move(inputs), {});
}

Status InferShape(Graph* graph, const Node& node) {
  const Shape& in = graph->shape(node.inputs[0]);
  const Shape& places = graph->shape(node.inputs[1]);
  if (places.b != in.b || places.c < 2) {
    return InvalidModel("its places %s are no x and y for each of %d images",
                        ToString(places).c_str(), in.b);
  }
  Value& out = graph->value(node.outputs[0]);
  out.shape = {in.b, places.h, places.w, in.c};
  out.rank = 4;
  return Status();
}

constexpr const char* kPixel = QUADRA_TEXT(R"(
    sum4_t at = read_places(x, y, s / dst_s * places_s);
    vec4 v = vec4(0.0f);
    if (at.x > -1.0f && at.x < float(src_w) && at.y > -1.0f && at.y < float(src_h)) {
      int x0 = int(floor(at.x));
      int y0 = int(floor(at.y));
      place_t right = at.x - float(x0);
      place_t low = at.y - float(y0);
      for (int j = y0; j < y0 + 2; ++j) {
        for (int k = x0; k < x0 + 2; ++k) {
          if (j >= 0 && j < src_h && k >= 0 && k < src_w) {
            place_t part = (k == x0 ? 1.0f - right : right) * (j == y0 ? 1.0f - low : low);
            v += vec4(part) * read_src(k, j, s);
          }
        }
      }
    }
    write_dst(v, x, y, s);
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  KernelDesc& desc = list->Add("resampler");
  desc.Read("src", node.inputs[0]);
  desc.Read("places", node.inputs[1]);
  desc.Write("dst", node.outputs[0]);
  LoopOverResults(context, graph.shape(node.outputs[0]), "", kPixel, &desc);
  return Status();
}

}  // namespace

extern const Op kResamplerOp;
const Op kResamplerOp = {
    .name = "resampler",
    .custom = "Resampler",
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
};

}  // namespace quadra
