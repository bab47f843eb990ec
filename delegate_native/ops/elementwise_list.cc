// The elementwise ops: a row each. A row's formula is written in the words of docs/kernels.md; $a,
// $b and $c are its operands, vec4 or ivec4 by their elements, $NAME a float attribute. A short one
// is fewer bytes as it is than as a text of the library (base/texts.h).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "delegate_native/base/texts.h"
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Elements kNumbers = kFloats | kInts;
// The same and int64, which is two ints where its numbers may be beyond 32 bits.
constexpr Elements kWholes = kNumbers | Only(Element::kInt64);
// Elements whose results always fit 32 bits.
constexpr Elements kOrdered = kNumbers | kNarrowInts | Only(Element::kInt64);

// The operands of a node of a table's row, all of one element.
Status Operands(Importer* importer, const Op& op, std::vector<ValueId>* values) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(op.operands, op.operands));
  values->resize(static_cast<size_t>(op.operands));
  for (int i = 0; i < op.operands; ++i) {
    QUADRA_RETURN_IF_ERROR(importer->Operand(i, &(*values)[static_cast<size_t>(i)], op.takes));
  }
  return importer->CheckAlike(*values);
}

Status ActivationOf(const Op& op, const Importer& importer, TfLiteFusedActivation* activation) {
  *activation = kTfLiteActNone;
  if (!op.activates) return Status();
  const TfLiteFusedActivation* params;
  QUADRA_RETURN_IF_ERROR(importer.GetParams(&params));
  *activation = *params;
  return Status();
}

Status Import(Importer* importer) {
  const Op& op = *FindOpFor(importer->builtin(), nullptr);
  std::vector<ValueId> values;
  QUADRA_RETURN_IF_ERROR(Operands(importer, op, &values));
  TfLiteFusedActivation activation;
  QUADRA_RETURN_IF_ERROR(ActivationOf(op, *importer, &activation));
  return importer->AddNode(op.name, std::move(values), {}, activation);
}

// The CPU divides the integers of tensors with a scale as they are.
Status ImportFloorDiv(Importer* importer) {
  for (int input : {0, 1}) QUADRA_RETURN_IF_ERROR(importer->CheckUnscaled(input));
  return Import(importer);
}

// RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1. The limits are arguments of the kernel, so that all share
// one program.
Status ImportClamp(Importer* importer) {
  const int code = importer->builtin();
  Attributes attributes;
  attributes.SetFloat("low", code == kTfLiteBuiltinReluN1To1 ? -1.0f : 0.0f);
  attributes.SetFloat("high", code == kTfLiteBuiltinRelu    ? kInfinity
                              : code == kTfLiteBuiltinRelu6 ? 6.0f
                                                            : 1.0f);
  std::vector<ValueId> values;
  QUADRA_RETURN_IF_ERROR(Operands(importer, *FindOp("clamp"), &values));
  return importer->AddNode("clamp", std::move(values), std::move(attributes));
}

bool HasNoLimits(const Node& node) {
  const float low = node.attributes.Float("low"), high = node.attributes.Float("high");
  return std::isinf(low) && low < 0 && std::isinf(high) && high > 0;
}

Status ImportLeakyRelu(Importer* importer) {
  const TfLiteLeakyReluParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  std::vector<ValueId> values;
  QUADRA_RETURN_IF_ERROR(Operands(importer, *FindOp("leaky_relu"), &values));
  Attributes attributes;
  attributes.SetFloat("alpha", params->alpha);
  return importer->AddNode("leaky_relu", std::move(values), std::move(attributes));
}

Status ImportGelu(Importer* importer) {
  const TfLiteGeluParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  const char* form = params->approximate ? "gelu_tanh" : "gelu";
  std::vector<ValueId> values;
  QUADRA_RETURN_IF_ERROR(Operands(importer, *FindOp(form), &values));
  return importer->AddNode(form, std::move(values), {});
}

// The grid that training quantises to: floats in, floats out.
Status ImportFakeQuant(Importer* importer) {
  const TfLiteFakeQuantParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  if (params->num_bits < 2 || params->num_bits > 16 || !(params->min <= 0) || !(params->max >= 0) ||
      !(params->min < params->max)) {
    return InvalidModel("it has %d bits from %g to %g", params->num_bits,
                        static_cast<double>(params->min), static_cast<double>(params->max));
  }
  const float least = params->narrow_range ? 1.0f : 0.0f;
  const float most = static_cast<float>((1 << params->num_bits) - 1);
  const float scale = (params->max - params->min) / (most - least);
  const float exact = std::min(std::max(least - params->min / scale, least), most);
  // The nearest whole number, without a library's function: it is no less than 0.
  const int below = static_cast<int>(exact);
  const float zero =
      static_cast<float>(exact - static_cast<float>(below) < 0.5f ? below : below + 1);
  Attributes attributes;
  attributes.SetFloat("low", (least - zero) * scale);
  attributes.SetFloat("scale", scale);
  attributes.SetFloat("inverse", 1.0f / scale);
  attributes.SetFloat("steps", most - least);
  std::vector<ValueId> values;
  QUADRA_RETURN_IF_ERROR(Operands(importer, *FindOp("fake_quant"), &values));
  return importer->AddNode("fake_quant", std::move(values), std::move(attributes));
}

// CAST is another op for each kind of number that it makes.
Status ImportCast(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  if (IsQuantized(importer->InputTensor(0)) || IsQuantized(importer->OutputTensor(0))) {
    return Unsupported("it casts the integers of a quantized tensor, which is floats here");
  }
  ValueId x;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &x, kAllElements));
  switch (importer->OutputTensor(0).type) {
    case kTfLiteFloat16:
    case kTfLiteFloat32: return importer->AddNode("to_float", {x}, {});
    case kTfLiteInt32:
    case kTfLiteInt64: return importer->AddNode("to_int", {x}, {});
    case kTfLiteBool: return importer->AddNode("to_bool", {x}, {});
    case kTfLiteUInt8: return importer->AddNode("to_uint8", {x}, {});
    case kTfLiteInt8: return importer->AddNode("to_int8", {x}, {});
    case kTfLiteInt16: return importer->AddNode("to_int16", {x}, {});
    default:
      return Unsupported(
          "it makes %s; float32, int32, int64, int8, uint8, int16 and bool are supported",
          TypeName(importer->OutputTensor(0).type));
  }
}

// RIGHT_SHIFT: by at most all bits but one of the model's type. Only uint8 has to be told: the
// others' numbers lie in an int with their signs, and 31 places leave of them what fewer do.
Status ImportRightShift(Importer* importer) {
  std::vector<ValueId> values;
  QUADRA_RETURN_IF_ERROR(Operands(importer, *FindOp("right_shift"), &values));
  Attributes attributes;
  attributes.SetFloat("most", importer->InputTensor(0).type == kTfLiteUInt8 ? 7.0f : 31.0f);
  return importer->AddNode("right_shift", std::move(values), std::move(attributes));
}

// FLOOR_MOD: of int64 by a small constant, half a word after the other. What other divisors leave
// would take a loop over 64 bits.
Status ImportFloorMod(Importer* importer) {
  for (int input : {0, 1}) QUADRA_RETURN_IF_ERROR(importer->CheckUnscaled(input));
  std::vector<ValueId> values;
  QUADRA_RETURN_IF_ERROR(Operands(importer, *FindOp("floor_mod"), &values));
  if (importer->graph()->value(values[0]).element == Element::kInt64) {
    int divisor;
    QUADRA_RETURN_IF_ERROR(importer->ConstantInt(1, &divisor));
    if (divisor < 1 || divisor > INT16_MAX) {
      return Unsupported("its divisor of int64 is %d; from 1 to 32767 are supported", divisor);
    }
  }
  return importer->AddNode("floor_mod", std::move(values), {});
}

// SELECT: a condition of one axis chooses whole rows of the others.
Status ImportSelect(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 3));
  ValueId condition, yes, no;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &condition, kBools));
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &yes, kAllElements));
  QUADRA_RETURN_IF_ERROR(importer->Operand(2, &no, kAllElements));
  QUADRA_RETURN_IF_ERROR(importer->CheckAlike({yes, no}));
  const int rank = importer->InputRank(1);
  if (importer->builtin() == kTfLiteBuiltinSelect && importer->InputRank(0) == 1 && rank > 1) {
    std::vector<int> column(static_cast<size_t>(rank), 1);
    column[0] = -1;
    Attributes attributes;
    attributes.SetInts("shape", column);
    condition = importer->AddInnerNode("reshape", {condition}, std::move(attributes));
  }
  Attributes attributes;
  const TfLiteIntArray* made = importer->OutputTensor(0).dims;
  const bool is_one =
      made && made->size <= kMostRank &&
      std::all_of(made->data, made->data + made->size, [](int n) { return n == 1; });
  if (is_one) attributes.SetInt("rank", made->size);
  return importer->AddNode("select", {condition, yes, no}, std::move(attributes));
}

// With operands of one number each, the result has the rank that the file says. Results of
// branches are alike (ops/branch.cc).
Status SelectShape(Graph* graph, const Node& node) {
  QUADRA_RETURN_IF_ERROR(BroadcastShape(graph, node));
  Value& out = graph->value(node.outputs[0]);
  if (node.attributes.Has("alike")) {
    const Value &yes = graph->value(node.inputs[1]), &no = graph->value(node.inputs[2]);
    if (yes.shape != no.shape || graph->shape(node.inputs[0]).elements() != 1) {
      return Unsupported("its branches make %s and %s", ToString(yes.shape).c_str(),
                         ToString(no.shape).c_str());
    }
    out.shape = yes.shape;
    out.rank = yes.rank;
  }
  if (out.shape.elements() == 1) out.rank = node.attributes.Int("rank", out.rank);
  return Status();
}

// ADD_N: as many additions as it takes.
Status ImportAddN(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1 << 20));
  std::vector<ValueId> values(static_cast<size_t>(importer->num_inputs()));
  for (size_t i = 0; i < values.size(); ++i) {
    QUADRA_RETURN_IF_ERROR(importer->Operand(static_cast<int>(i), &values[i], kNumbers));
  }
  QUADRA_RETURN_IF_ERROR(importer->CheckAlike(values));
  if (values.size() == 1) return importer->AddNode("copy", {values[0]}, {});
  ValueId sum = values[0];
  for (size_t i = 1; i + 1 < values.size(); ++i) {
    sum = importer->AddInnerNode("add", {sum, values[i]}, {});
  }
  return importer->AddNode("add", {sum, values.back()}, {});
}

// Integers of 8 and 16 bits stand for floats, and are floats here: what comes is brought to the
// numbers that the result can hold, as every quantised result is.
Status ImportQuantize(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  ValueId x;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &x));
  const TfLiteTensor& out = importer->OutputTensor(0);
  if (!IsQuantized(out)) {
    return Unsupported("it makes %s; int8, uint8 and int16 with a scale are supported",
                       TypeName(out.type));
  }
  return importer->AddNode("copy", {x}, {});
}

// Constants are folded: float16 and integers are how small weights are stored.
Status ImportDequantize(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  if (importer->IsConstant(0)) {
    ConstantData data;
    QUADRA_RETURN_IF_ERROR(importer->constants()->Get(importer->context(), importer->InputIndex(0),
                                                      /*wants_floats=*/true, &data));
    if (!IsFloat(data->element())) return InvalidModel("its operand has no scale");
    return importer->AddConstantOutput(std::move(data));
  }
  const TfLiteTensor& x_tensor = importer->InputTensor(0);
  if (!IsQuantized(x_tensor) && x_tensor.type != kTfLiteFloat16) {
    return Unsupported(
        "its operand is %s; float16, int8, uint8 and int16 with a scale are supported",
        TypeName(x_tensor.type));
  }
  ValueId x;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &x));
  return importer->AddNode("copy", {x}, {});
}

// The defaults of most rows.
constexpr Op Row(const char* name, int16_t builtin, int16_t max_version, int8_t operands,
                 Elements takes, const char* formula, const char* int_formula = nullptr) {
  return {.name = name,
          .builtins = {builtin, -1},
          .max_version = max_version,
          .import = Import,
          .shape = BroadcastShape,
          .formula = formula,
          .int_formula = int_formula,
          .operands = operands,
          .takes = takes,
          .max_rank = kMostRank};
}
constexpr Op Unary(const char* name, int16_t builtin, int16_t max_version, const char* formula) {
  return Row(name, builtin, max_version, 1, kFloats, formula);
}
// Arithmetic with a fused activation.
constexpr Op Activating(Op op) {
  op.activates = true;
  op.params_bytes = sizeof(TfLiteFusedActivation);
  return op;
}
constexpr Op Jumping(Op op) {
  op.jumps = true;
  return op;
}
constexpr Op Comparison(const char* name, int16_t builtin, const char* formula,
                        Elements takes = kOrdered) {
  Op op = Row(name, builtin, 5, 2, takes, formula);
  op.result = Result::kBool;
  return Jumping(op);
}
// A row whose results are known where its operands are.
constexpr Op Known(double (*value)(double a, double b, bool of_ints), Op op) {
  op.value = value;
  return op;
}
// As the CPU, whose quotient of floats is one.
double FloorDiv(double a, double b, bool of_ints) {
  return std::floor(of_ints ? a / b : static_cast<float>(a / b));
}
// A row with an import of its own; without a code it is made by another's import.
constexpr Op With(Status (*import)(Importer*), const char* attributes, Op op,
                  uint8_t params_bytes = 0) {
  op.import = import;
  op.attributes = attributes;
  op.params_bytes = params_bytes;
  return op;
}
constexpr Op Makes(Result result, Op op) {
  op.result = result;
  return op;
}
constexpr Op Copying(Op op) {
  op.copies = [](const Node&) { return true; };
  return op;
}
constexpr int16_t kNone = -1;

}  // namespace

const Op kElementwiseOps[] = {
    Known([](double a, double b, bool) { return a + b; },
          Activating(Row("add", kTfLiteBuiltinAdd, 5, 2, kWholes, "$a + $b"))),
    Known([](double a, double b, bool) { return a - b; },
          Activating(Row("sub", kTfLiteBuiltinSub, 5, 2, kWholes, "$a - $b"))),
    Known([](double a, double b, bool) { return a * b; },
          Activating(Row("mul", kTfLiteBuiltinMul, 8, 2, kWholes, "$a * $b"))),
    Known([](double a, double b, bool) { return a / b; },
          Activating(Row("div", kTfLiteBuiltinDiv, 2, 2, kNumbers, QUADRA_TEXT("divided($a, $b)"),
                         QUADRA_TEXT("int_quotient($a, $b)")))),
    Copying(With(ImportAddN, "", Row("copy", kTfLiteBuiltinAddN, 1, 1, kAllElements, "$a"))),
    // As the CPU: where one is NaN, the second.
    Known([](double a, double b, bool) { return a > b ? a : b; },
          Row("maximum", kTfLiteBuiltinMaximum, 4, 2, kOrdered, QUADRA_TEXT("larger($a, $b)"),
              QUADRA_TEXT("choose(is_less($b, $a), $a, $b)"))),
    Known([](double a, double b, bool) { return a < b ? a : b; },
          Row("minimum", kTfLiteBuiltinMinimum, 4, 2, kOrdered, QUADRA_TEXT("smaller($a, $b)"),
              QUADRA_TEXT("choose(is_less($a, $b), $a, $b)"))),
    Known([](double a, double b, bool) -> double { return std::pow(a, b); },
          Row("pow", kTfLiteBuiltinPow, 1, 2, kNumbers, QUADRA_TEXT("power($a, $b)"),
              QUADRA_TEXT("int_power($a, $b)"))),
    Known([](double a, double b, bool) -> double { return (a - b) * (a - b); },
          Row(QUADRA_TEXT("squared_difference"), kTfLiteBuiltinSquaredDifference, 2, 2, kNumbers,
              QUADRA_TEXT("($a - $b) * ($a - $b)"))),
    Known(FloorDiv, Jumping(With(ImportFloorDiv, "",
                                 Row(QUADRA_TEXT("floor_div"), kTfLiteBuiltinFloorDiv, 3, 2,
                                     kNumbers, QUADRA_TEXT("floor_quotient($a, $b)"),
                                     QUADRA_TEXT("int_floor_div($a, $b)"))))),
    With(ImportFloorMod, "",
         Jumping(Row(QUADRA_TEXT("floor_mod"), kTfLiteBuiltinFloorMod, 2, 2, kWholes,
                     QUADRA_TEXT("floor_mod($a, $b)"),
                     QUADRA_TEXT("($a - $b * int_floor_div($a, $b))")))),
    Row("atan2", kTfLiteBuiltinAtan2, 1, 2, kFloats, QUADRA_TEXT("arc_tangent($a, $b)")),
    Row("prelu", kTfLiteBuiltinPrelu, 1, 2, kFloats,
        QUADRA_TEXT("choose(is_less($a, vec4(0.0f)), $b * $a, $a)")),

    Known([](double a, double b, bool) -> double { return a == b; },
          Comparison("equal", kTfLiteBuiltinEqual, QUADRA_TEXT("is_equal($a, $b)"), kAllElements)),
    Known([](double a, double b, bool) -> double { return a != b; },
          Comparison("not_equal", kTfLiteBuiltinNotEqual, QUADRA_TEXT("1 - is_equal($a, $b)"),
                     kAllElements)),
    Known([](double a, double b, bool) -> double { return a < b; },
          Comparison("less", kTfLiteBuiltinLess, QUADRA_TEXT("is_less($a, $b)"))),
    Known([](double a, double b, bool) -> double { return a <= b; },
          Comparison("less_equal", kTfLiteBuiltinLessEqual, QUADRA_TEXT("is_at_most($a, $b)"))),
    Known([](double a, double b, bool) -> double { return a > b; },
          Comparison("greater", kTfLiteBuiltinGreater, QUADRA_TEXT("is_less($b, $a)"))),
    Known(
        [](double a, double b, bool) -> double { return a >= b; },
        Comparison("greater_equal", kTfLiteBuiltinGreaterEqual, QUADRA_TEXT("is_at_most($b, $a)"))),
    Known([](double a, double b, bool) -> double { return a * b; },
          Row(QUADRA_TEXT("logical_and"), kTfLiteBuiltinLogicalAnd, 1, 2, kBools, "$a & $b")),
    Known([](double a, double b, bool) -> double { return a + b > 0; },
          Row(QUADRA_TEXT("logical_or"), kTfLiteBuiltinLogicalOr, 1, 2, kBools, "$a | $b")),
    Known([](double a, double, bool) -> double { return 1 - a; },
          Row(QUADRA_TEXT("logical_not"), kTfLiteBuiltinLogicalNot, 1, 1, kBools, "1 - $a")),
    Row(QUADRA_TEXT("bitwise_xor"), kTfLiteBuiltinBitwiseXor, 1, 2, kInts | kNarrowInts, "$a ^ $b"),
    With(ImportRightShift, QUADRA_TEXT("most"),
         Row(QUADRA_TEXT("right_shift"), kTfLiteBuiltinRightShift, 1, 2, kInts | kNarrowInts,
             QUADRA_TEXT("$a >> min(max($b, ivec4(0)), to_int(vec4($most)))"))),
    {.name = "select",
     .builtins = {kTfLiteBuiltinSelect, kTfLiteBuiltinSelectV2, -1},
     .max_version = 4,
     .import = ImportSelect,
     .shape = SelectShape,
     .formula = QUADRA_TEXT("choose($a, $b, $c)"),
     .operands = 3,
     .result = Result::kLikeSecond,
     .max_rank = kMostRank},

    Known([](double a, double, bool) -> double { return std::fabs(a); },
          Row("abs", kTfLiteBuiltinAbs, 5, 1, kNumbers, QUADRA_TEXT("magnitude($a)"),
              QUADRA_TEXT("max($a, -$a)"))),
    Jumping(Unary("ceil", kTfLiteBuiltinCeil, 1, "ceil($a)")),
    Known([](double a, double, bool) -> double { return std::cos(a); },
          Unary("cos", kTfLiteBuiltinCos, 2, QUADRA_TEXT("cosine($a)"))),
    Unary("elu", kTfLiteBuiltinElu, 1,
          QUADRA_TEXT("choose(is_less($a, vec4(0.0f)), exp_less_one($a), $a)")),
    Known([](double a, double, bool) -> double { return std::exp(a); },
          Unary("exp", kTfLiteBuiltinExp, 2, "exp($a)")),
    Jumping(Unary("floor", kTfLiteBuiltinFloor, 1, QUADRA_TEXT("floor($a)"))),
    // Far below 0 the second factor is 0, as on the CPU.
    With(ImportGelu, "",
         Unary("gelu", kTfLiteBuiltinGelu, 3, QUADRA_TEXT("vec4(0.5f) * $a * one_and_erf($a)")),
         sizeof(TfLiteGeluParams)),
    Unary(QUADRA_TEXT("gelu_tanh"), kNone, 0,
          QUADRA_TEXT(
              "vec4(0.5f) * $a * (vec4(1.0f) + tanh(bounded(vec4(0.7978845608f) * $a * (vec4(1.0f) "
              "+ vec4(0.044715f) * $a * $a), -10.0f, 10.0f)))")),
    Unary(
        "hard_swish", kTfLiteBuiltinHardSwish, 1,
        QUADRA_TEXT("$a * min(max($a + vec4(3.0f), vec4(0.0f)), vec4(6.0f)) * vec4(0.16666667f)")),
    With(ImportLeakyRelu, QUADRA_TEXT("alpha"),
         Unary(QUADRA_TEXT("leaky_relu"), kTfLiteBuiltinLeakyRelu, 2,
               QUADRA_TEXT("above($a, vec4(0.0f)) + vec4($alpha) * below($a, vec4(0.0f))")),
         sizeof(TfLiteLeakyReluParams)),
    Known([](double a, double, bool) -> double { return std::log(a); },
          Unary("log", kTfLiteBuiltinLog, 2, "log($a)")),
    // exp of a large number is inf and its inverse 0, which is right.
    Known([](double a, double, bool) -> double { return 1 / (1 + std::exp(-a)); },
          Unary("logistic", kTfLiteBuiltinLogistic, 3,
                QUADRA_TEXT("vec4(1.0f) / (vec4(1.0f) + exp(-$a))"))),
    Known([](double a, double, bool) -> double { return -a; },
          Row("neg", kTfLiteBuiltinNeg, 1, 1, kWholes, "-$a")),
    {.name = "clamp",
     .builtins = {kTfLiteBuiltinRelu, kTfLiteBuiltinRelu6, kTfLiteBuiltinReluN1To1,
                  kTfLiteBuiltinRelu0To1, -1},
     .max_version = 3,
     .attributes = QUADRA_TEXT("low high"),
     .import = ImportClamp,
     .shape = BroadcastShape,
     .formula = QUADRA_TEXT("bounded($a, $low, $high)"),
     .int_formula =
         QUADRA_TEXT("choose(is_less(vec4($high), to_float($a)), to_int(vec4($high)), max($a, "
                     "to_int(vec4($low))))"),
     .value = [](double x, double, bool) { return x; },
     .max_rank = kMostRank,
     .copies = HasNoLimits},
    // To the even one of two neighbours.
    Jumping(Unary("round", kTfLiteBuiltinRound, 1, QUADRA_TEXT("round_even($a)"))),
    Known([](double a, double, bool) -> double { return 1 / std::sqrt(a); },
          Unary("rsqrt", kTfLiteBuiltinRsqrt, 3, QUADRA_TEXT("vec4(1.0f) / sqrt($a)"))),
    Jumping(Row("sign", kTfLiteBuiltinSign, 2, 1, kNumbers,
                QUADRA_TEXT("choose(is_number($a), to_float(is_less(vec4(0.0f), $a) - is_less($a, "
                            "vec4(0.0f))), $a)"),
                QUADRA_TEXT("is_less(ivec4(0), $a) - is_less($a, ivec4(0))"))),
    Unary("silu", kNone, 0, QUADRA_TEXT("$a / (vec4(1.0f) + exp(-$a))")),
    Known([](double a, double, bool) -> double { return std::sin(a); },
          Unary("sin", kTfLiteBuiltinSin, 2, "sine($a)")),
    Known([](double a, double, bool) -> double { return std::sqrt(a); },
          Unary("sqrt", kTfLiteBuiltinSqrt, 2, "sqrt($a)")),
    Row(QUADRA_TEXT("zeros_like"), kTfLiteBuiltinZerosLike, 1, 1, kAllElements,
        QUADRA_TEXT("vec4(0.0f)"), "ivec4(0)"),
    Known([](double a, double, bool) -> double { return a * a; },
          Unary("square", kTfLiteBuiltinSquare, 1, "$a * $a")),
    // Beyond 10 the result is 1 in float32, and some drivers overflow there.
    Unary("tanh", kTfLiteBuiltinTanh, 3, QUADRA_TEXT("tanh(bounded($a, -10.0f, 10.0f))")),
    // Halfway between two steps the result depends on the product's last bit, so the product is the
    // CPU's: no compiler can join it with the addition through `below`.
    With(ImportFakeQuant, QUADRA_TEXT("low scale inverse steps"),
         Unary(QUADRA_TEXT("fake_quant"), kTfLiteBuiltinFakeQuant, 2,
               QUADRA_TEXT(
                   "floor(below(larger($a - vec4($low), vec4(0.0f)) * vec4($inverse), vec4($steps))"
                   " + vec4(0.5f)) * vec4($scale) + vec4($low)")),
         sizeof(TfLiteFakeQuantParams)),

    Known([](double a, double, bool) -> double { return a; },
          With(ImportCast, "",
               Makes(Result::kDeclared, Row("to_float", kTfLiteBuiltinCast, 7, 1, kAllElements,
                                            "$a", QUADRA_TEXT("to_float($a)"))))),
    // As the CPU: the nearest end for what is beyond an integer's ends, the upper one for NaN.
    Known([](double a, double, bool) { return a; },
          Makes(Result::kDeclared,
                Row("to_int", kNone, 0, 1, kAllElements,
                    QUADRA_TEXT("choose(is_less($a, vec4(2147483648.0f)), to_int(max($a, "
                                "vec4(-2147483648.0f))), ivec4(2147483647))"),
                    "$a"))),
    Known([](double a, double, bool) -> double { return a != 0; },
          Makes(Result::kBool, Row("to_bool", kNone, 0, 1, kAllElements,
                                   QUADRA_TEXT("1 - is_equal($a, vec4(0.0f))"),
                                   QUADRA_TEXT("1 - is_equal($a, ivec4(0))")))),
    Makes(Result::kDeclared,
          Row("to_uint8", kNone, 0, 1, kAllElements,
              QUADRA_TEXT(
                  "choose(is_less($a, vec4(255.0f)), to_int(max($a, vec4(0.0f))), ivec4(255))"),
              QUADRA_TEXT("$a & ivec4(255)"))),
    Makes(Result::kDeclared,
          Row("to_int8", kNone, 0, 1, kAllElements,
              QUADRA_TEXT(
                  "choose(is_less($a, vec4(127.0f)), to_int(max($a, vec4(-128.0f))), ivec4(127))"),
              "$a << 24 >> 24")),
    Makes(Result::kDeclared,
          Row("to_int16", kNone, 0, 1, kAllElements,
              QUADRA_TEXT("choose(is_less($a, vec4(32767.0f)), to_int(max($a, vec4(-32768.0f))), "
                          "ivec4(32767))"),
              "$a << 16 >> 16")),
    // For numbers of 64 bits, as a lower word and an upper one (passes/split_int64.cc).
    Row(QUADRA_TEXT("upper_word"), kNone, 0, 1, kInts, "$a >> 31"),
    Row(QUADRA_TEXT("nearest_int"), kNone, 0, 2, kInts,
        QUADRA_TEXT("choose(is_equal($b, $a >> 31), $a, ($b >> 31) ^ ivec4(2147483647))")),
    Comparison(QUADRA_TEXT("unsigned_less"), kNone,
               QUADRA_TEXT("is_less($a ^ ivec4(-2147483647 - 1), $b ^ ivec4(-2147483647 - 1))")),
    Row(QUADRA_TEXT("upper_of_product"), kNone, 0, 2, kInts,
        QUADRA_TEXT("upper_of_product($a, $b)")),
    With(nullptr, QUADRA_TEXT("divisor"),
         Row(QUADRA_TEXT("mod_of_words"), kNone, 0, 2, kInts,
             QUADRA_TEXT("mod_of_words($a, $b, to_int(vec4($divisor)))"))),
    Row(QUADRA_TEXT("lower_half"), kNone, 0, 1, kInts, QUADRA_TEXT("$a & ivec4(65535)")),
    Row(QUADRA_TEXT("upper_half"), kNone, 0, 1, kInts, QUADRA_TEXT("$a >> 16 & ivec4(65535)")),
    Row(QUADRA_TEXT("joined_halves"), kNone, 0, 2, kInts, QUADRA_TEXT("$a + ($b << 16)")),
    Makes(
        Result::kDeclared,
        Row(QUADRA_TEXT("float_of_words"), kNone, 0, 2, kInts,
            QUADRA_TEXT("(to_float($b) + to_float(is_less($a, ivec4(0)))) * vec4(4294967296.0f) + "
                        "to_float($a)"))),
    // Below 2^31 they are those of the int; beyond, floats are even, and all steps are exact. From
    // 2^63 on, and for NaN, it is the largest number, as on the CPU.
    Makes(Result::kDeclared,
          Row(QUADRA_TEXT("upper_of_float"), kNone, 0, 1, kFloats,
              QUADRA_TEXT("choose(is_less(magnitude($a), vec4(2147483648.0f)), to_int($a) >> 31, "
                          "choose(is_less($a, vec4(9223372036854775808.0f)), to_int(max(floor($a * "
                          "vec4(2.3283064365386963e-10f)), vec4(-2147483648.0f))), "
                          "ivec4(2147483647)))"))),
    Makes(Result::kDeclared,
          Row(QUADRA_TEXT("lower_of_float"), kNone, 0, 1, kFloats,
              QUADRA_TEXT("choose(is_less(magnitude($a), vec4(2147483648.0f)), to_int($a), "
                          "choose(is_less($a, vec4(9223372036854775808.0f)), "
                          "to_int($a * vec4(0.5f) - floor($a * vec4(2.3283064365386963e-10f)) * "
                          "vec4(2147483648.0f)) << 1, ivec4(-1)))"))),
    With(ImportQuantize, QUADRA_TEXT("scale inverse low high"),
         Unary(QUADRA_TEXT("requantize"), kTfLiteBuiltinQuantize, 3,
               QUADRA_TEXT("requantize($a, $inverse, $scale, $low, $high)"))),
    // From floats that the integers stand for, and to them.
    Makes(
        Result::kDeclared,
        With(
            nullptr, QUADRA_TEXT("scale inverse zero low high"),
            Unary(
                "quantize", kNone, 0,
                QUADRA_TEXT(
                    "to_int(requantize($a, $inverse, 1.0f, $low, $high)) + to_int(vec4($zero))")))),
    With(ImportDequantize, QUADRA_TEXT("scale zero"),
         Makes(Result::kDeclared,
               Row(QUADRA_TEXT("dequantize"), kTfLiteBuiltinDequantize, 9, 1, kNarrowInts, "$a",
                   QUADRA_TEXT("(to_float($a) - vec4($zero)) * vec4($scale)")))),
};
const size_t kElementwiseOpCount = sizeof(kElementwiseOps) / sizeof(kElementwiseOps[0]);

}  // namespace quadra
