// SHAPE, RANK: what is known of a tensor before it is computed. BROADCAST_ARGS: the shape to which
// two are broadcast. Nodes that read them are folded, too.
#include <algorithm>

#include "delegate_native/base/status.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/ops/axes.h"
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

Status ImportArgs(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  std::vector<ValueId> values(2);
  for (int i : {0, 1}) {
    QUADRA_RETURN_IF_ERROR(
        importer->Operand(i, &values[static_cast<size_t>(i)], kInts | Only(Element::kInt64)));
  }
  QUADRA_RETURN_IF_ERROR(importer->CheckAlike(values));
  return importer->AddNode("broadcast_args", std::move(values), {});
}

// The size along an axis, counted from the last one; 1 before the first.
int FromEnd(const std::vector<int32_t>& sizes, size_t axis) {
  return axis < sizes.size() ? sizes[sizes.size() - 1 - axis] : 1;
}

Status InferArgs(Graph* graph, const Node& node) {
  for (ValueId id : node.inputs) {
    const Value& value = graph->value(id);
    if (!value.constant) {
      return Unsupported("the shape '%s' is computed while the model runs", value.name.c_str());
    }
  }
  const std::vector<int32_t>& a = graph->value(node.inputs[0]).constant->ints();
  const std::vector<int32_t>& b = graph->value(node.inputs[1]).constant->ints();
  std::vector<int32_t> sizes(std::max(a.size(), b.size()));
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const int mine = FromEnd(a, axis), other = FromEnd(b, axis);
    if (mine != other && mine != 1 && other != 1) {
      return InvalidModel("axis %zu from the last one is %d and %d", axis + 1, mine, other);
    }
    sizes[sizes.size() - 1 - axis] = mine == 1 ? other : mine;
  }
  Value& out = graph->value(node.outputs[0]);
  const int count = static_cast<int>(sizes.size());
  out.constant = std::make_shared<const Constant>(out.element, std::move(sizes));
  return SetDims({count}, &out);
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

extern const Op kBroadcastArgsOp;
const Op kBroadcastArgsOp = {
    .name = "broadcast_args",
    .builtins = {kTfLiteBuiltinBroadcastArgs, -1},
    .max_version = 1,
    .import = ImportArgs,
    .shape = InferArgs,
    .result = Result::kDeclared,
    .size_input = kAllSizeInputs,
};

}  // namespace quadra
