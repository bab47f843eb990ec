// aeq.hadamard_rotation, a custom op of LiteRT (kernels/hadamard_rotation.cc), which AI Edge
// Quantizer puts before products whose weights it has rotated: runs of `hadamard_size` channels, a
// power of two, times the Hadamard matrix of that size over its square root. TFLite's kernel does
// not read the option random_binary_vector, and this one doesn't either.
#include <cmath>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/flex_map.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  const uint8_t* bytes = nullptr;
  const size_t length = importer->CustomOptions(&bytes);
  FlexMap options;
  QUADRA_RETURN_IF_ERROR(options.Read(bytes, length));
  int size;
  QUADRA_RETURN_IF_ERROR(options.Size("hadamard_size", &size));
  if ((size & (size - 1)) != 0) {
    return InvalidModel("its hadamard_size is %d, which is no power of two", size);
  }
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  Attributes attributes;
  attributes.SetInt("size", size);
  return importer->AddNode("hadamard_rotation", {src}, std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  // TFLite's kernel takes the second axis for the channels wherever there are not three.
  if (in.rank != 2 && in.rank != 3) {
    return Unsupported("its input has rank %d; ranks 2 and 3 are supported", in.rank);
  }
  const int size = node.attributes.Int("size");
  if (in.shape.c % size != 0) {
    return Unsupported("its input has %d channels, no multiple of its hadamard_size %d", in.shape.c,
                       size);
  }
  return SameShape(graph, node);
}

// The matrix has -1 where row and column have an odd number of bits in common, else 1. Slices are
// summed first, with the signs of their bits, then the four lanes of the sum by the bits of lanes.
constexpr const char* kBody = QUADRA_TEXT(R"(
$if(slices)
int first = s / count * count;
sum4_t v = vec4(0.0f);
for (int i = 0; i < count; ++i) {
int both = i & (s - first);
both = both ^ (both >> 8);
both = both ^ (both >> 4);
sum_t times = 1.0f - float((27030 >> (both & 15)) & 1) * 2.0f;
sum4_t part = read_src(x, y, first + i);
v += part * times;
}
$end
$if(!slices) sum4_t v = read_src(x, y, s);
$if(pairs) v = vec4(v.x + v.y, v.x - v.y, v.z + v.w, v.z - v.w);
$if(slices) v = vec4(v.x + v.z, v.y + v.w, v.x - v.z, v.y - v.w);
write_dst(v * scale, x, y, s);
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const int size = node.attributes.Int("size");
  const int count = size / 4;
  KernelDesc& desc = list->Add("hadamard_rotation");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  if (count > 0) desc.Int("count", count);
  desc.trips = count;
  desc.Float("scale", 1.0f / std::sqrt(static_cast<float>(size)));
  const std::string body = Text(kBody).Set("slices", count > 0).Set("pairs", size > 1);
  LoopOverResults(context, graph.shape(node.outputs[0]), "", body.c_str(), &desc);
  return Status();
}

}  // namespace

extern const Op kHadamardRotationOp;
const Op kHadamardRotationOp = {
    .name = "hadamard_rotation",
    .custom = QUADRA_TEXT("aeq.hadamard_rotation"),
    .attributes = "size",
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .asks_for_rank = true,
};

}  // namespace quadra
