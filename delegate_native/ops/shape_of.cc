// SHAPE, RANK: what is known of a tensor before it is computed. Nodes that read it are folded, too.
#include "delegate_native/base/texts.h"
#include "delegate_native/ops/op.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements));
  Attributes attributes;
  attributes.SetInt("rank", importer->builtin() == kTfLiteBuiltinRank);
  return importer->AddNode("shape_of", {src}, std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  if (IsFloat(out.element)) return InvalidModel("it makes %s", NameOf(out.element));
  std::vector<int32_t> numbers;
  const bool is_rank = node.attributes.Int("rank") != 0;
  for (int axis = 4 - in.rank; axis < 4 && !is_rank; ++axis) {
    numbers.push_back(in.shape.axis(axis));
  }
  if (is_rank) numbers.push_back(in.rank);
  if (numbers.empty()) return Unsupported("the shape of a scalar is empty");
  out.rank = is_rank ? 0 : 1;
  out.shape = Shape();
  out.shape.c = static_cast<int>(numbers.size());
  out.constant = std::make_shared<const Constant>(out.element, std::move(numbers));
  return Status();
}

}  // namespace

extern const Op kShapeOp;
const Op kShapeOp = {
    .name = "shape_of",
    .builtins = {kTfLiteBuiltinShape, kTfLiteBuiltinRank, -1},
    .max_version = 1,
    .attributes = QUADRA_TEXT("rank"),
    .import = Import,
    .shape = InferShape,
    .result = Result::kDeclared,
    .max_rank = kMostRank,
};

}  // namespace quadra
