// FILL: one number in a constant shape. RANGE: a constant row of numbers, which is folded.
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
  ConstantData data;
  if (importer->InputTensor(0).type == kTfLiteFloat32) {
    float given[3];
    for (int i = 0; i < 3; ++i) QUADRA_RETURN_IF_ERROR(importer->ConstantFloat(i, &given[i]));
    std::vector<float> numbers;
    QUADRA_RETURN_IF_ERROR(Numbers(given[0], given[1], given[2], &numbers));
    data = std::make_shared<const Constant>(std::move(numbers));
  } else {
    int given[3];
    for (int i = 0; i < 3; ++i) QUADRA_RETURN_IF_ERROR(importer->ConstantInt(i, &given[i]));
    std::vector<int> numbers;
    QUADRA_RETURN_IF_ERROR(Numbers(given[0], given[1], given[2], &numbers));
    Element element;
    if (!ElementOf(importer->OutputTensor(0).type, &element) || IsFloat(element)) {
      return InvalidModel("it makes %s", TypeName(importer->OutputTensor(0).type));
    }
    data = std::make_shared<const Constant>(element, std::move(numbers));
  }
  return importer->AddConstantOutput(std::move(data));
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
    .size_input = kAllSizeInputs,
};

}  // namespace quadra
