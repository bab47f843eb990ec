// ONE_HOT: an axis put in, along which the place that an index names is `on` and all others are
// `off`.
#include "delegate_native/base/texts.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/reshape.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(4, 4));
  const TfLiteOneHotParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  std::vector<ValueId> values(3);
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &values[0], kInts | Only(Element::kInt64)));
  QUADRA_RETURN_IF_ERROR(importer->Operand(2, &values[1], kAllElements));
  QUADRA_RETURN_IF_ERROR(importer->Operand(3, &values[2], kAllElements));
  QUADRA_RETURN_IF_ERROR(importer->CheckAlike({values[1], values[2]}));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(importer->Sizes(1, "depth", &attributes));
  const int rank = importer->InputRank(0);
  int axis;
  QUADRA_RETURN_IF_ERROR(ToAxis(params->axis, rank + 1, &axis));
  attributes.SetInt("axis", axis);
  return importer->AddNode("one_hot", std::move(values), std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  if (in.rank >= 4)
    return Unsupported("its indices have rank %d; ranks up to 3 are supported", in.rank);
  for (size_t i = 1; i < 3; ++i) {
    if (graph->shape(node.inputs[i]).elements() != 1) {
      return InvalidModel("it has %s values", ToString(graph->shape(node.inputs[i])).c_str());
    }
  }
  const int axis = node.attributes.Int("axis");
  int depth;
  QUADRA_RETURN_IF_ERROR(ReadInt(node, "depth", &depth));
  if (depth < 1) return InvalidModel("its depth is no positive number");
  out.rank = in.rank + 1;
  out.shape = Shape();
  for (int a = 1; a < 4; ++a) out.shape.set_axis(a <= axis ? a - 1 : a, in.shape.axis(a));
  out.shape.set_axis(axis, depth);
  return Status();
}

constexpr const char* kPixel = QUADRA_TEXT(R"(
    int batch = s / dst_s;
    int first = (s - batch * dst_s) * 4;
    num4 yes = num4(read_yes(0, 0, 0).x);
    num4 no = num4(read_no(0, 0, 0).x);
    int slice = along_c != 0 ? batch * at_s : min(batch, at_last) * at_s + first / 4;
    ivec4 index = read_at(along_x != 0 ? 0 : x, along_y != 0 ? 0 : y, slice);
    ivec4 place = ivec4(along_y != 0 ? y : along_x != 0 ? x : batch);
    if (along_c != 0) {
      index = ivec4(index.x);
      place = ivec4(first, first + 1, first + 2, first + 3);
    }
    num4 v = choose(is_equal(index, place), yes, no);
    write_dst(v, x, y, s);
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const int axis = node.attributes.Int("axis");
  const Shape& out = graph.shape(node.outputs[0]);
  Shape indices = out;
  indices.set_axis(axis, 1);
  const int at = Viewed(context, graph, node.inputs[0], indices, list);
  KernelDesc& desc = list->Add("one_hot");
  desc.Read("at", at);
  desc.Read("yes", node.inputs[1]);
  desc.Read("no", node.inputs[2]);
  desc.Write("dst", node.outputs[0]);
  desc.Int("along_y", axis == 1);
  desc.Int("along_x", axis == 2);
  desc.Int("along_c", axis == 3);
  desc.Int("at_last", indices.b - 1);
  LoopOverResults(context, out, "", kPixel, &desc);
  return Status();
}

}  // namespace

extern const Op kOneHotOp;
const Op kOneHotOp = {
    .name = "one_hot",
    .builtins = {kTfLiteBuiltinOneHot, -1},
    .max_version = 1,
    .params_bytes = sizeof(TfLiteOneHotParams),
    .attributes = QUADRA_TEXT("axis depth"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .result = Result::kLikeSecond,
    .asks_for_rank = true,
    .place_input = 0,
    .size_input = 1,
};

}  // namespace quadra
