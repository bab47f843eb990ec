// SVDF: filters over features of the last steps. A step's features, one for each filter, go behind
// those before in the state, of which the oldest fall out; weights over time make sums of them, and
// `rank` filters a unit.
#include <cmath>
#include <utility>
#include <vector>

#include "delegate_native/ops/op.h"
#include "delegate_native/ops/reduce.h"
#include "delegate_native/ops/window.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

constexpr int kFeatureWeights = 1, kTimeWeights = 2, kBias = 3, kState = 4;

struct Sizes {
  int depth, filters, memory, units;
};

Status ReadSizes(const Importer& importer, int rank, Sizes* sizes) {
  int filters;
  QUADRA_RETURN_IF_ERROR(importer.MatrixSize(kFeatureWeights, &filters, &sizes->depth));
  QUADRA_RETURN_IF_ERROR(importer.MatrixSize(kTimeWeights, &sizes->filters, &sizes->memory));
  if (filters != sizes->filters || rank < 1 || filters % rank != 0) {
    return InvalidModel("its %d and %d filters do not fit rank %d", filters, sizes->filters, rank);
  }
  sizes->units = filters / rank;
  return Status();
}

Attributes Ints(const char* name, std::vector<int> ints) {
  Attributes attributes;
  attributes.SetInts(name, std::move(ints));
  return attributes;
}

// The state of all filters, [batch, filters, memory], after the step.
Status AddMemory(Importer* importer, const Sizes& sizes, ValueId* memory) {
  ValueId features, before;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &features));
  const TfLiteType state = importer->InputTensor(kState).type;
  // The interpreter takes it for one of 16 bits.
  if (state != kTfLiteFloat32 && state != kTfLiteInt16) {
    return Unsupported("its state is of 8 bits; float32 and int16 are supported");
  }
  QUADRA_RETURN_IF_ERROR(importer->State(kState, &before, /*quantized=*/true));
  ValueId weights;
  QUADRA_RETURN_IF_ERROR(importer->ConstantOperand(kFeatureWeights, &weights));
  weights = importer->ReshapeConstant(weights, {sizes.filters, 1, 1, sizes.depth});
  Attributes window;
  QUADRA_RETURN_IF_ERROR(SetWindow(kTfLitePaddingValid, 1, 1, 1, 1, &window));
  window.SetInt("rank", 2);
  features = importer->AddInnerNode("conv2d", {features, weights}, std::move(window));
  features = importer->OntoGrid(kState, features);
  *memory = importer->AddInnerNode("reshape", {features}, Ints("shape", {-1, sizes.filters, 1}));
  if (sizes.memory > 1) {
    before = importer->AddInnerNode("reshape", {before},
                                    Ints("shape", {-1, sizes.filters, sizes.memory}));
    Attributes slicing = Ints("begin", {0, 0, 1});
    slicing.SetInts("end", {0, 0, sizes.memory});
    slicing.SetInts("strides", {1, 1, 1});
    slicing.SetInt("end_mask", 3);
    before = importer->AddInnerNode("strided_slice", {before}, std::move(slicing));
    *memory = importer->AddInnerNode("concat", {before, *memory}, Ints("axis", {3}));
  }
  importer->SetState(kState,
                     importer->AddInnerNode("reshape", {*memory},
                                            Ints("shape", {-1, sizes.filters * sizes.memory})));
  return Status();
}

// The CPU's integers add the bias as it is, in the scale of the products: its own is not read.
Status ScaleBias(Importer* importer, int units, ValueId* bias) {
  const auto scale_of = [&](int input) {
    const TfLiteAffineQuantization* scales = ScalesOf(importer->InputTensor(input));
    return scales ? scales->scale->data[0] : 0.0f;
  };
  const float product = scale_of(kTimeWeights) * scale_of(kState), own = scale_of(kBias);
  if (!(own > 0) || std::abs(product - own) <= 1e-3f * own) return Status();
  SharedFloats floats;
  QUADRA_RETURN_IF_ERROR(importer->ConstantFloats(kBias, &floats));
  std::vector<float> scaled = *floats;
  for (float& number : scaled) number *= product / own;
  *bias = importer->AddConstant({1, 1, 1, units}, std::move(scaled));
  importer->graph()->value(*bias).rank = 1;
  return Status();
}

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(kBias, kState + 1));
  const TfLiteSVDFParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  Sizes sizes;
  QUADRA_RETURN_IF_ERROR(ReadSizes(*importer, params->rank, &sizes));
  QUADRA_RETURN_IF_ERROR(importer->CheckRows(2, sizes.depth));
  ValueId sums, weights;
  QUADRA_RETURN_IF_ERROR(AddMemory(importer, sizes, &sums));
  const int row = params->rank * sizes.memory;
  QUADRA_RETURN_IF_ERROR(importer->ConstantOperand(kTimeWeights, &weights));
  weights = importer->ReshapeConstant(weights, {1, 1, sizes.units, row});
  importer->graph()->value(weights).rank = 3;  // as the sums have it
  sums = importer->AddInnerNode("reshape", {sums}, Ints("shape", {-1, sizes.units, row}));
  sums = importer->AddInnerNode("mul", {sums, weights}, {});
  Attributes reduction = Ints("axes", {3});
  reduction.SetInt("kind", static_cast<int>(Reduction::kSum));
  reduction.SetInt("keep_dims", 0);
  // The CPU's integers are cut off by their grid alone.
  const bool has_integers = IsQuantized(importer->OutputTensor(0));
  const TfLiteFusedActivation activation = has_integers ? kTfLiteActNone : params->activation;
  if (!importer->HasInput(kBias)) {
    return importer->AddNode("reduce", {sums}, std::move(reduction), activation);
  }
  ValueId bias;
  QUADRA_RETURN_IF_ERROR(importer->ConstantOperand(kBias, &bias));
  if (has_integers) QUADRA_RETURN_IF_ERROR(ScaleBias(importer, sizes.units, &bias));
  sums = importer->AddInnerNode("reduce", {sums}, std::move(reduction));
  return importer->AddNode("add", {sums, bias}, {}, activation);
}

}  // namespace

extern const Op kSvdfOp;
const Op kSvdfOp = {
    .name = "svdf",
    .builtins = {kTfLiteBuiltinSvdf, -1},
    .max_version = 4,
    .params_bytes = sizeof(TfLiteSVDFParams),
    .import = Import,
};

}  // namespace quadra
