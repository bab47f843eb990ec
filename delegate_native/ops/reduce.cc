// SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN; of bools REDUCE_ANY is the largest and REDUCE_ALL the
// least. Over any constant set of axes, kept as 1 or dropped.
#include "delegate_native/ops/reduce.h"

#include <algorithm>
#include <limits>

#include "delegate_native/base/status.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/reshape.h"

namespace quadra {
namespace {

struct Kind {
  const char* name;
  const char* combine;  // of `all` and `v`, each four numbers
  float identity;
  int int_identity;
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Kind kKinds[] = {
    {"reduce_sum", "all + v", 0.0f, 0},
    {"reduce_mean", "all + v", 0.0f, 0},
    {"reduce_prod", "all * v", 1.0f, 1},
    {"reduce_max", QUADRA_TEXT("choose(is_less(all, v), v, all)"), -kInfinity, INT32_MIN},
    {"reduce_min", QUADRA_TEXT("choose(is_less(v, all), v, all)"), kInfinity, INT32_MAX},
};

constexpr int8_t kKindOfBuiltin[][2] = {
    {kTfLiteBuiltinSum, static_cast<int8_t>(Reduction::kSum)},
    {kTfLiteBuiltinReduceProd, static_cast<int8_t>(Reduction::kProduct)},
    {kTfLiteBuiltinReduceMax, static_cast<int8_t>(Reduction::kMax)},
    {kTfLiteBuiltinReduceMin, static_cast<int8_t>(Reduction::kMin)},
};

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  const TfLiteReducerParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  const int code = importer->builtin();
  const bool of_bools = code == kTfLiteBuiltinReduceAny || code == kTfLiteBuiltinReduceAll;
  // A product of int64 would be one of words at each step.
  const Elements wholes = code == kTfLiteBuiltinReduceProd ? 0 : Only(Element::kInt64);
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(
      0, &src, static_cast<Elements>(of_bools ? kBools : kFloats | kInts | wholes)));
  Reduction reduction = code == kTfLiteBuiltinReduceAny ? Reduction::kMax : Reduction::kMin;
  for (const auto& pair : kKindOfBuiltin) {
    if (pair[0] == code) reduction = static_cast<Reduction>(pair[1]);
  }
  std::vector<int> axes;
  QUADRA_RETURN_IF_ERROR(ReadAxes(*importer, 1, &axes));
  Attributes attributes;
  attributes.SetInt("kind", static_cast<int>(reduction));
  attributes.SetInts("axes", axes);
  attributes.SetInt("keep_dims", params->keep_dims);
  return importer->AddNode("reduce", {src}, std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  QUADRA_RETURN_IF_ERROR(InferReduced(graph, node));
  if (node.attributes.Int("kind") != static_cast<int>(Reduction::kSum)) return Status();
  const int64_t results = std::max(int64_t{1}, graph->shape(node.outputs[0]).elements());
  const Value& in = graph->value(node.inputs[0]);
  return CheckSummands(in.element, in.shape.elements() / results);
}

constexpr const char* kDropDeadLanes = QUADRA_TEXT(R"(
if (i == src_s - 1) {
  int rest = src_c - i * 4;
  if (rest < 2) { v.y = identity; }
  if (rest < 3) { v.z = identity; }
  if (rest < 4) { v.w = identity; }
}
)");
// $combine makes one of `all` and `v`. The four lanes come last. NaN is left out, and of NaN alone
// the result is NaN. (The CPU's kernels differ among themselves.)
constexpr const char* kBody = QUADRA_TEXT(R"(
int batch = s / dst_s;
int at_b = batch % to_b;
int at_q = batch / to_b % to_q;
int at_p = batch / to_b / to_q;
$four all = $make(identity);
$if(channels)
for (int i = 0; i < src_s; ++i) {
$slice}
$four v = $make(all.y, all.x, all.w, all.z);
all = $combine;
v = $make(all.z, all.z, all.x, all.x);
all = $combine;
$end
$if(!channels)
int i = s - batch * dst_s;
 {
$slice}
$end
$if(whole)

sum4_t first = read_$tensor(x, y, ((at_p * ${whole-1:from,all}_q + at_q) * ${whole-1:from,all}_b + at_b) * ${tensor}_s + ${channels:i,0});
$if(channels) first = vec4(first.x);
all = choose(is_number(first) | (1 - is_equal(all, vec4(identity))), all, first);
$end
write_dst(${ints:all * vec4(scale),all}, x, y, s);
)");
constexpr const char* kSlice = QUADRA_TEXT(
    R"($four v = read_src(x + k, y + j, (((at_p + p) * from_q + at_q + q) * from_b + at_b + b) * src_s + i);
${dead}all = $combine;
)");

// The axes' own loops, around what is done with one slice of a pixel.
std::string Loops(const Shape& from, const Shape& to, const char* slice) {
  std::string text = slice;
  const char* const names[] = {"p", "q", "b", "j", "k"};
  for (int axis = 2; axis >= kFirstAxis; --axis) {
    Text loop(from.axis(axis) == to.axis(axis)
                  ? "int $axis = 0;\n$inner"
                  : QUADRA_TEXT("for (int $axis = 0; $axis < count_$axis; ++$axis) {\n$inner}\n"));
    text = loop.Set("axis", names[axis - kFirstAxis]).Set("inner", text);
  }
  return text;
}

// Fills in the types of a kernel of ints or of floats.
Text ForElement(const char* text, const Kind& kind, bool is_int) {
  Text made(text);
  made.Set("ints", is_int).Set("four", is_int ? "ivec4" : "sum4_t");
  return made.Set("make", is_int ? "ivec4" : "vec4").Set("combine", kind.combine);
}

// The tensor that the largest or least number is of.
enum class Whole { kNone, kSource, kOther };

std::string Body(const Kind& kind, const Shape& from, const Shape& to, bool is_int, Whole whole) {
  const bool channels = from.c != to.c;
  Text text = ForElement(kBody, kind, is_int);
  text.Set("channels", channels).Set("slice", Loops(from, to, kSlice));
  text.Set("dead", channels ? kDropDeadLanes : "").Set("whole", static_cast<int>(whole));
  return text.Set("tensor", whole == Whole::kSource ? "src" : "whole");
}

int64_t TripsOf(const Shape& from, const Shape& to) {
  int64_t trips = from.c == to.c ? 1 : from.slices();
  for (int axis = kFirstAxis; axis < 3; ++axis) {
    if (from.axis(axis) != to.axis(axis)) trips *= from.axis(axis) + 1;
  }
  return trips;
}

// whole, whole_shape: what `from` was made of; only the last of several steps has a `whole`.
void AddKernel(const KernelContext& context, Reduction reduction, int from, const Shape& from_shape,
               int to, const Shape& to_shape, Element element, int whole, const Shape& whole_shape,
               KernelList* list) {
  const Kind& kind = kKinds[static_cast<int>(reduction)];
  const bool is_int = !IsFloat(element);
  KernelDesc& desc = list->Add(kind.name);
  desc.Read("src", from);
  const bool chooses = reduction == Reduction::kMax || reduction == Reduction::kMin;
  const bool has_nan = chooses && !is_int && whole >= 0;
  if (has_nan && whole != from) {
    desc.Read("whole", whole);
    desc.Int("all_q", whole_shape.axis(-1));
    desc.Int("all_b", whole_shape.axis(0));
  }
  desc.Write("dst", to);
  const char* const names[] = {"count_p", "count_q", "count_b", "count_j", "count_k"};
  desc.trips = TripsOf(from_shape, to_shape);
  for (int axis = kFirstAxis; axis < 3; ++axis) {
    if (from_shape.axis(axis) == to_shape.axis(axis)) continue;
    desc.Int(names[axis - kFirstAxis], from_shape.axis(axis));
  }
  desc.Int("from_q", from_shape.axis(-1));
  desc.Int("from_b", from_shape.axis(0));
  desc.Int("to_q", to_shape.axis(-1));
  desc.Int("to_b", to_shape.axis(0));
  if (is_int) {
    desc.Int("identity", kind.int_identity);
  } else {
    const double count =
        static_cast<double>(from_shape.elements()) / static_cast<double>(to_shape.elements());
    desc.Float("identity", kind.identity);
    desc.Float("scale", reduction == Reduction::kMean ? static_cast<float>(1.0 / count) : 1.0f);
  }
  const std::string body = Body(kind, from_shape, to_shape, is_int,
                                !has_nan        ? Whole::kNone
                                : whole == from ? Whole::kSource
                                                : Whole::kOther);
  LoopOverResults(context, to_shape, "", body.c_str(), &desc);
}

constexpr const char* kPart = QUADRA_TEXT(R"(
int batch = s / dst_s;
int i = (s - batch * dst_s) * count, end = min(i + count, src_s);
$four all = $make(identity);
for (; i < end; ++i) {
$four v = read_src(x, y, batch * src_s + i);
${dead}all = $combine;
}
write_dst(all, x, y, s);
)");

// Slices of channels that are too many for one work-item: so many of them become one slice.
constexpr int kMostSlices = 4096;
int AddParts(const KernelContext& context, Reduction reduction, int from, Element element,
             Shape* shape, KernelList* list) {
  const Kind& kind = kKinds[static_cast<int>(reduction)];
  const bool is_int = !IsFloat(element);
  Shape parts = *shape;
  parts.c = CeilDiv(shape->slices(), kMostSlices) * 4;
  const int to = list->AddScratch(parts, element);
  KernelDesc& desc = list->Add("reduce_part");
  desc.Read("src", from);
  desc.Write("dst", to);
  desc.Int("count", kMostSlices);
  if (is_int) desc.Int("identity", kind.int_identity);
  else desc.Float("identity", kind.identity);
  desc.trips = kMostSlices;
  const std::string body = ForElement(kPart, kind, is_int).Set("dead", kDropDeadLanes);
  LoopOverResults(context, parts, "", body.c_str(), &desc);
  *shape = parts;
  return to;
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& in = graph.value(node.inputs[0]);
  const Shape made = Reduced(in.shape, node);
  const int to = BeginReshape(graph, node, made, list);
  AddReduction(context, static_cast<Reduction>(node.attributes.Int("kind")), node.inputs[0],
               in.shape, to, made, in.element, list);
  FinishReshape(context, graph, node, to, made, list);
  return Status();
}

// Folds a vector of ints alone, as sizes are: their product is the number of elements.
ConstantData Fold(const Graph& graph, const Node& node) {
  const Value& in = graph.value(node.inputs[0]);
  const bool is_product = node.attributes.Int("kind") == static_cast<int>(Reduction::kProduct);
  if (IsFloat(in.element) || in.rank != 1 || !is_product) return nullptr;
  int64_t product = 1;
  for (int32_t n : in.constant->ints()) {
    product *= n;
    if (product != static_cast<int32_t>(product)) return nullptr;
  }
  return std::make_shared<const Constant>(in.element,
                                          std::vector<int32_t>{static_cast<int32_t>(product)});
}

}  // namespace

Status CheckSummands(Element element, int64_t count) {
  if (element != Element::kInt64 || count <= 1 << 16) return Status();
  return Unsupported("a sum of int64 has %lld numbers; up to 65536 are supported",
                     static_cast<long long>(count));
}

Shape Reduced(const Shape& in, const Node& node) {
  Shape shape = in;
  for (int axis : node.attributes.Ints("axes")) shape.set_axis(axis, 1);
  return shape;
}

Status InferReduced(Graph* graph, const Node& node) {
  DropAxes(graph->value(node.inputs[0]), node.attributes.Ints("axes"),
           node.attributes.Int("keep_dims", 0) != 0, &graph->value(node.outputs[0]));
  return Status();
}

void AddReduction(const KernelContext& context, Reduction reduction, int from,
                  const Shape& from_shape, int to, const Shape& to_shape, Element element,
                  KernelList* list) {
  // Where a work-item would loop for too long, or a whole image is one: an axis after the other.
  constexpr int kWorthTwoSteps = 256;
  const bool divides = context.gpu->divides_reductions();
  int tensor = from;
  Shape shape = from_shape;
  for (int axis = 2; axis >= kFirstAxis && divides; --axis) {
    Shape less = shape;
    less.set_axis(axis, to_shape.axis(axis));
    if (less == shape || less == to_shape || TripsOf(shape, to_shape) < kWorthTwoSteps) continue;
    const int between = list->AddScratch(less, element);
    AddKernel(context, reduction, tensor, shape, between, less, element, -1, from_shape, list);
    tensor = between;
    shape = less;
  }
  if (shape.c != to_shape.c && shape.slices() > kMostSlices && divides &&
      reduction != Reduction::kMean) {
    tensor = AddParts(context, reduction, tensor, element, &shape, list);
  }
  AddKernel(context, reduction, tensor, shape, to, to_shape, element, from, from_shape, list);
}

extern const Op kReduceOp;
const Op kReduceOp = {
    .name = "reduce",
    .builtins = {kTfLiteBuiltinSum, kTfLiteBuiltinReduceProd, kTfLiteBuiltinReduceMax,
                 kTfLiteBuiltinReduceMin, -1},
    .max_version = 3,
    .params_bytes = sizeof(TfLiteReducerParams),
    .attributes = QUADRA_TEXT("kind axes keep_dims"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .fold = Fold,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .size_input = 1,
};

extern const Op kReduceBoolsOp;
const Op kReduceBoolsOp = {
    .name = "reduce_bools",
    .builtins = {kTfLiteBuiltinReduceAny, kTfLiteBuiltinReduceAll, -1},
    .max_version = 1,
    .params_bytes = sizeof(TfLiteReducerParams),
    .import = Import,
    .max_rank = kMostRank,
    .size_input = 1,
};

}  // namespace quadra
