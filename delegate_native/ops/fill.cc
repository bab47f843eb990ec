// FILL: one number in a shape that is known. RANGE: a row of numbers that is known when shapes are.
#include "delegate_native/ops/axes.h"

namespace quadra {
namespace {

constexpr int kMostNumbers = 1 << 24;

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(importer->Sizes(0, "shape", &attributes));
  ValueId number;
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &number, kAllElements));
  if (importer->InputRank(1) != 0) return InvalidModel("it fills with more than one number");
  return importer->AddNode("tile", {number}, std::move(attributes));
}

// As the CPU: so many steps as begin before the limit.
template <typename T>
Status Numbers(T start, T limit, T step, std::vector<T>* numbers) {
  if (step == 0) return InvalidModel("its step is 0");
  const double steps =
      (static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(step);
  if (!(steps > 0) || steps > kMostNumbers) return Unsupported("it has %g numbers", steps);
  const size_t whole = static_cast<size_t>(steps);
  const size_t count = whole + (static_cast<double>(whole) < steps ? 1 : 0);
  numbers->resize(count);
  for (size_t i = 0; i < numbers->size(); ++i) {
    (*numbers)[i] = start + static_cast<T>(i) * step;
  }
  return Status();
}

Status ImportRange(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 3));
  std::vector<ValueId> values(3);
  for (int i = 0; i < 3; ++i) {
    QUADRA_RETURN_IF_ERROR(importer->Operand(i, &values[static_cast<size_t>(i)], kAllElements));
  }
  QUADRA_RETURN_IF_ERROR(importer->CheckAlike(values));
  return importer->AddNode("range", std::move(values), {});
}

Status InferRange(Graph* graph, const Node& node) {
  const Constant* given[3];
  for (size_t i = 0; i < 3; ++i) {
    const Value& value = graph->value(node.inputs[i]);
    given[i] = value.constant.get();
    if (!given[i]) {
      return Unsupported(
          "operand '%s' is computed while the model runs; it must be a constant of the model",
          value.name.c_str());
    }
    if (given[i]->size() != 1) {
      return InvalidModel("its input %d is %zu numbers", static_cast<int>(i), given[i]->size());
    }
  }
  Value& out = graph->value(node.outputs[0]);
  out.element = given[0]->element();
  if (IsFloat(out.element)) {
    std::vector<float> numbers;
    QUADRA_RETURN_IF_ERROR(
        Numbers(given[0]->front(), given[1]->front(), given[2]->front(), &numbers));
    out.constant = std::make_shared<const Constant>(std::move(numbers));
  } else {
    std::vector<int> numbers;
    QUADRA_RETURN_IF_ERROR(
        Numbers(given[0]->ints()[0], given[1]->ints()[0], given[2]->ints()[0], &numbers));
    out.constant = std::make_shared<const Constant>(out.element, std::move(numbers));
  }
  return SetDims({static_cast<int>(out.constant->size())}, &out);
}

}  // namespace

extern const Op kFillOp;
const Op kFillOp = {
    .name = "fill",
    .builtins = {kTfLiteBuiltinFill, -1},
    .max_version = 4,
    .import = Import,
    .max_rank = kMostRank,
    .size_input = 0,
};

extern const Op kRangeOp;
const Op kRangeOp = {
    .name = "range",
    .builtins = {kTfLiteBuiltinRange, -1},
    .max_version = 2,
    .import = ImportRange,
    .shape = InferRange,
    .size_input = kAllSizeInputs,
};

}  // namespace quadra
