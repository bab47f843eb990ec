// STABLEHLO_REDUCE_WINDOW: the sum, product, largest or least number of a window that slides along
// any axes. Cells outside the tensor are the initial value, which each result begins with.
#include "delegate_native/base/status.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/combination.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status SetWindows(const TfLiteStablehloReduceWindowParams& params, int rank,
                  Attributes* attributes) {
  for (int axis = 0; axis < rank; ++axis) {
    if (params.base_dilations[axis] == 1) continue;
    return Unsupported("it spreads axis %d by %lld; windows over the tensor as it is are supported",
                       axis, static_cast<long long>(params.base_dilations[axis]));
  }
  QUADRA_RETURN_IF_ERROR(SetAxisNumbers("window", params.window_dimensions, rank, 1, attributes));
  QUADRA_RETURN_IF_ERROR(SetAxisNumbers("stride", params.window_strides, rank, 1, attributes));
  QUADRA_RETURN_IF_ERROR(SetAxisNumbers("dilation", params.window_dilations, rank, 1, attributes));
  return SetAxisNumbers("padding", params.padding, 2 * rank, -kMostAxisNumber, attributes);
}

// Sums and products begin with what changes nothing: cells outside could not be left out otherwise.
Status CheckNeutral(const Importer& importer, bool is_float, Combination combination) {
  const int neutral = combination == Combination::kMultiply;
  float number = 0;
  int integer = 0;
  QUADRA_RETURN_IF_ERROR(is_float ? importer.ConstantFloat(1, &number)
                                  : importer.ConstantInt(1, &integer));
  if (is_float ? number == static_cast<float>(neutral) : integer == neutral) return Status();
  return Unsupported("its initial value is not %d", neutral);
}

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  const TfLiteStablehloReduceWindowParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  QUADRA_RETURN_IF_ERROR(importer->CheckUnscaled(0));
  Combination combination;
  QUADRA_RETURN_IF_ERROR(ReadCombination(*importer, params->body_subgraph_index, &combination));
  if (combination == Combination::kSecond) return Unsupported("its computation does nothing");
  std::vector<ValueId> values(1);
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &values[0], kFloats | kInts));
  Attributes attributes;  // of an operand, whose axes are no more than the lists have room for
  attributes.SetInt("combines", static_cast<int>(combination));
  QUADRA_RETURN_IF_ERROR(SetWindows(*params, importer->InputRank(0), &attributes));
  if (combination == Combination::kMaximum || combination == Combination::kMinimum) {
    values.emplace_back();
    QUADRA_RETURN_IF_ERROR(importer->Operand(1, &values[1], kFloats | kInts));
    QUADRA_RETURN_IF_ERROR(importer->CheckAlike(values));
  } else {
    const bool is_float = IsFloat(importer->graph()->value(values[0]).element);
    QUADRA_RETURN_IF_ERROR(CheckNeutral(*importer, is_float, combination));
  }
  return importer->AddNode("reduce_window", std::move(values), std::move(attributes));
}

// How the window slides along an axis, counted as Shape does.
struct Slide {
  int count = 1, stride = 1, dilation = 1, before = 0, after = 0;

  bool stands() const { return count == 1 && stride == 1 && before == 0 && after == 0; }
  int64_t Places(int size) const {
    const int64_t room = int64_t{size} + before + after - int64_t{count - 1} * dilation - 1;
    return room < 0 ? 0 : room / stride + 1;
  }
};
Slide SlideAlong(const Node& node, int axis) {
  const std::vector<int>& window = node.attributes.Ints("window");
  const int rank = static_cast<int>(window.size());
  if (axis < 4 - rank) return {};
  const size_t i = static_cast<size_t>(axis + rank - 4);
  const std::vector<int>& padding = node.attributes.Ints("padding");
  return {window[i], node.attributes.Ints("stride")[i], node.attributes.Ints("dilation")[i],
          padding[2 * i], padding[2 * i + 1]};
}

bool StandsInPlanes(const Node& node) {
  for (int axis = kFirstAxis; axis < 3; ++axis) {
    if (!SlideAlong(node, axis).stands()) return false;
  }
  return true;
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  const size_t rank = node.attributes.Ints("window").size();
  bool fits = rank == static_cast<size_t>(in.rank) && rank > 0;
  fits = fits && node.attributes.Ints("stride").size() == rank;
  fits = fits && node.attributes.Ints("dilation").size() == rank;
  fits = fits && node.attributes.Ints("padding").size() == 2 * rank;
  Value& out = graph->value(node.outputs[0]);
  out.shape = in.shape;
  out.rank = in.rank;
  for (int axis = kFirstAxis; fits && axis < 4; ++axis) {
    const int64_t places = SlideAlong(node, axis).Places(in.shape.axis(axis));
    fits = places > 0 && places <= INT32_MAX;
    out.shape.set_axis(axis, static_cast<int>(places));
  }
  return fits ? Status()
              : InvalidModel("its windows do not fit into %s", ToString(in.shape).c_str());
}

// By Combination, of floats and of ints. As on the CPU NaN stays where it comes last; elsewhere the
// next number takes its place.
constexpr const char* kCombine[][2] = {{"", ""},
                                       {"all + v", "all + v"},
                                       {"all * v", "all * v"},
                                       {"larger(all, v)", "max(all, v)"},
                                       {"smaller(all, v)", "min(all, v)"}};

constexpr const char* kPlanes = QUADRA_TEXT(R"(
int batch = s / dst_s;
int at_b = batch % to_b;
int at_q = batch / to_b % to_q;
int at_p = batch / to_b / to_q;
$four all = $make($first);
${loops}write_dst(all, x, y, s);
)");
// Cells outside are combined, too: they replace NaN.
constexpr const char* kCell = QUADRA_TEXT(R"(
$four v = $make($first);
if (${inside}true) v = read_src(from_x, from_y, ((from_p * size_q + from_q) * size_b + from_b) * dst_s + s - batch * dst_s);
all = $combine;
)");
constexpr const char* kInside = QUADRA_TEXT("from_$axis >= 0 && from_$axis < size_$axis && ");
constexpr const char* kLoop = QUADRA_TEXT(R"(
$if(stands)
int from_$axis = $at;
$inner
$end
$if(!stands)
for (int i_$axis = 0; i_$axis < count_$axis; ++i_$axis) {
int from_$axis = $at * stride_$axis + i_$axis * dilation_$axis - before_$axis;
$inner
}
$end
)");
constexpr const char* kChannels = QUADRA_TEXT(R"(
int batch = s / dst_s;
int first = (s - batch * dst_s) * 4;
num4 made = num4(0);
for (int i = 0; i < 4; ++i) {
$four all = $make($first);
for (int m = 0; m < count_c; ++m) {
int c = (first + i) * stride_c + m * dilation_c - before_c;
$four v = $make($first);
if (c >= 0 && c < src_c) v = $make(num_lane(read_src(x, y, batch * src_s + c / 4), c % 4));
all = $combine;
}
made = num_with_lane(made, i, ${ints:float(all.x),all.x});
}
write_dst(made, x, y, s);
)");

void AddNumbers(const char* axis, const Slide& slide, KernelDesc* desc) {
  const std::string name = std::string("_") + axis;
  desc->Int("count" + name, slide.count);
  desc->Int("stride" + name, slide.stride);
  desc->Int("dilation" + name, slide.dilation);
  desc->Int("before" + name, slide.before);
  desc->trips *= slide.count;
}

// The kernel, with what both texts have.
KernelDesc& AddStep(const Node& node, int from, int to, KernelList* list) {
  KernelDesc& desc = list->Add("reduce_window");
  desc.Read("src", from);
  if (node.inputs.size() > 1) desc.Read("init", node.inputs[1]);
  desc.Write("dst", to);
  desc.trips = 1;
  return desc;
}
std::string Filled(const char* body, const Node& node, bool is_int, const std::string& loops) {
  const Combination combination = static_cast<Combination>(node.attributes.Int("combines", 0));
  Text text(body);
  text.Set("loops", loops).Set("ints", is_int);
  text.Set("first", node.inputs.size() > 1                  ? "read_init(0, 0, 0).x"
                    : combination == Combination::kMultiply ? "1"
                                                            : "0");
  text.Set("four", is_int ? "ivec4" : "sum4_t").Set("make", is_int ? "ivec4" : "vec4");
  return text.Set("combine", kCombine[static_cast<int>(combination)][is_int]);
}

void AddAlongPlanes(const KernelContext& context, const Node& node, const Value& in, int to,
                    const Shape& out, KernelList* list) {
  KernelDesc& desc = AddStep(node, node.inputs[0], to, list);
  const char* const names[] = {"p", "q", "b", "y", "x"};
  const char* const places[] = {"at_p", "at_q", "at_b", "y", "x"};
  std::string loops = kCell, inside;
  for (int axis = 2; axis >= kFirstAxis; --axis) {
    const char* name = names[axis - kFirstAxis];
    const Slide slide = SlideAlong(node, axis);
    Text loop(kLoop);
    loop.Set("axis", name).Set("at", places[axis - kFirstAxis]).Set("stands", slide.stands());
    loops = loop.Set("inner", loops);
    desc.Int(std::string("size_") + name, in.shape.axis(axis));
    if (slide.stands()) continue;
    inside += Text(kInside).Set("axis", name).str();
    AddNumbers(name, slide, &desc);
  }
  loops = Text(loops.c_str()).Set("inside", inside).str();
  desc.Int("to_b", out.axis(0));
  desc.Int("to_q", out.axis(-1));
  LoopOverResults(context, out, "", Filled(kPlanes, node, !IsFloat(in.element), loops).c_str(),
                  &desc);
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& in = graph.value(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  const Slide channels = SlideAlong(node, 3);
  if (channels.stands()) {
    AddAlongPlanes(context, node, in, node.outputs[0], out, list);
    return Status();
  }
  int from = node.inputs[0];
  Shape between = out;
  between.c = in.shape.c;
  if (!StandsInPlanes(node)) {
    from = list->AddScratch(between, in.element);
    AddAlongPlanes(context, node, in, from, between, list);
  }
  KernelDesc& desc = AddStep(node, from, node.outputs[0], list);
  AddNumbers("c", channels, &desc);
  desc.trips *= 4;
  LoopOverResults(context, out, "", Filled(kChannels, node, !IsFloat(in.element), "").c_str(),
                  &desc);
  return Status();
}

}  // namespace

extern const Op kReduceWindowOp;
const Op kReduceWindowOp = {
    .name = "reduce_window",
    .builtins = {kTfLiteBuiltinStablehloReduceWindow, -1},
    .max_version = 1,
    .params_bytes = sizeof(TfLiteStablehloReduceWindowParams),
    .attributes = QUADRA_TEXT("combines window stride dilation padding"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .max_rank = kMostRank,
    .asks_for_rank = true,
};

}  // namespace quadra
