#include "delegate_native/ops/elementwise.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/border_kernels.h"
#include "delegate_native/ops/cpu_kernels.h"
#include "delegate_native/ops/folding.h"
#include "delegate_native/ops/grid.h"

namespace quadra {
namespace {

constexpr const char* kPixel = QUADRA_TEXT(R"(int x = GLOBAL_X; int y = GLOBAL_Y; int s = GLOBAL_Z;
if (x >= dst_w || y >= dst_h || s >= dst_s * dst_b) { return; }
${half:write_dst(num4(0),write_medium_dst(to_medium(vec4(0.0f))}, x, y, s);
)");
// Reads operand $t; $slice is a batch item's.
constexpr const char* kReadShort = QUADRA_TEXT(R"(int $t_slice = $slice; $type $t_read = $type(0);
if ($t_slice < $t_s) {
$t_read = read_$t($x, $y, $first$t_slice);
}
)");

const char* TypeOf(const Value& value) { return IsFloat(value.element) ? "vec4" : "ivec4"; }

// Writes the text of one step into a kernel's epilogue. Names are unique per step.
class StepWriter {
 public:
  StepWriter(const KernelContext& context, const Graph& graph, const Value& out, KernelDesc* desc,
             int index)
      : gpu_(*context.gpu),
        computes_half_(context.plan_computes_half()),
        graph_(graph),
        out_(out.shape),
        desc_(desc),
        index_(index) {}

  // `e_v = FORMULA;`. The operand `hole` is e_v as it was, and so are operands behind the last of
  // `inputs`; -1: all are read. `is_int`: whether the first operand is of ints.
  Status Write(const Op& op, const std::vector<ValueId>& inputs, int hole, bool is_int,
               const Attributes& attributes) {
    const std::string formula = is_int && op.int_formula ? op.int_formula : op.formula;
    // "$a + $b" and "$a * $b" commute.
    if (merge_similar_sources() && formula.size() == 7 && strchr("+*", formula[3]))
      hole = std::min(hole, 0);
    std::vector<std::string> operands(static_cast<size_t>(op.operands), "e_v");
    size_t next = 0;
    for (size_t i = 0; i < operands.size() && next < inputs.size(); ++i) {
      if (static_cast<int>(i) == hole) continue;
      const char letter[] = {'$', static_cast<char>('a' + i), '\0'};
      operands[i] = Operand(inputs[next++], CountOf(formula.c_str(), letter) > 1);
    }
    Text text("e_v = $formula;");
    text.Set("formula", formula);
    constexpr const char* kOperands[] = {"a", "b", "c"};
    for (size_t i = 0; i < operands.size(); ++i) text.Set(kOperands[i], operands[i]);
    // Attributes have longer names.
    for (size_t at = 0; (at = formula.find('$', at)) != std::string::npos; ++at) {
      const char* const name = formula.c_str() + at + 1;
      const std::string hole(name - 1, 1 + strspn(name, "abcdefghijklmnopqrstuvwxyz"));
      if (hole.size() == 2 || formula.find(hole) < at) continue;
      text.Set(name, Float(attributes.Float(hole.c_str() + 1)));
    }
    Line(text);
    return Status();
  }

 private:
  bool merge_similar_sources() const { return MergesSimilarSources(gpu_); }
  // Then operands are read as if they had fewer channels; a division would cost too much.
  bool is_one_of_few() const { return merge_similar_sources() && out_.b == 1; }

  static int CountOf(const char* text, const char* word) {
    int count = 0;
    while ((text = strstr(text, word))) text += 2, ++count;
    return count;
  }

  // An operand as an expression; one that is read from memory and used `often` gets a name.
  std::string Operand(ValueId id, bool often) {
    std::string read = Read(id);
    if (!often || read.find("read_") == std::string::npos) return read;
    const std::string name = NextName();
    const Value& value = graph_.value(id);
    const char* const type = computes_half_ && IsFloat(value.element) ? "sum4_t" : TypeOf(value);
    Line(type + (" " + name) + " = " + read + ";");
    return name;
  }

  // An expression that reads the operand at the current place, broadcast to the output. An
  // operand with fewer channels (and more than one) is zero beyond them: see
  // merge_channel_padding.
  std::string Read(ValueId operand) {
    const Value& value = graph_.value(operand);
    const Shape& shape = value.shape;
    const std::string type = TypeOf(value);
    if (value.constant && shape.elements() == 1) {
      return type + "(" +
             (IsFloat(value.element) ? Float(value.constant->front())
                                     : Int(value.constant->ints()[0])) +
             ")";
    }
    const std::string name = NextName();
    desc_->Read(name, operand);
    const bool one_channel = shape.c == 1 && out_.c > 1;
    const bool is_short = !one_channel && (shape.c < out_.c || is_one_of_few());
    Text text(one_channel ? QUADRA_TEXT("$type(read_$t($x, $y, $batch).x)")
              : is_short  ? kReadShort
                          : "read_$t($x, $y, $slice)");
    text.Set("t", name).Set("type", type).Set("batch", Batch(shape));
    text.Set("x", shape.w == 1 ? "0" : "e_x").Set("y", shape.h == 1 ? "0" : "e_y");
    // The written tensor's slices tell batch and slice apart where only one of them is broadcast.
    text.Set("slices", desc_->epilogue_tensor + "_s");
    if (!is_short) {
      return text.Set("slice", shape.b == out_.b ? "e_s"
                               : shape.b == 1    ? "e_s % $slices"
                                                 : "$batch * $slices + e_s % $slices");
    }
    text.Set("first", shape.b == 1 ? "" : "$batch * $t_s + ");
    Line(text.Set("slice", is_one_of_few() ? "e_s" : "e_s % $slices"));
    return name + "_read";
  }

  // The operand's batch at the current place. Of its three outermost axes some may be 1 where the
  // output's are not.
  std::string Batch(const Shape& shape) {
    if (shape.b == 1) return "0";
    const char* const at = "e_s / $slices";
    if (shape.b == out_.b) return at;
    const auto stride = [&](int axis, int of_one) {
      return Int(shape.axis(axis) == 1 ? 0 : of_one);
    };
    Text text(
        QUADRA_TEXT("($at / $inner / $middle * $outermost + $at / $inner % $middle * $next + "
                    "$at % $inner * $last)"));
    text.Set("at", at).Set("inner", Int(out_.axis(0))).Set("middle", Int(out_.axis(-1)));
    text.Set("outermost", stride(-2, shape.axis(-1) * shape.axis(0)));
    return text.Set("next", stride(-1, shape.axis(0))).Set("last", stride(0, 1));
  }

  // A number as an argument of the kernel: nodes that differ only in it share one program.
  std::string Float(float value) {
    const std::string name = NextName();
    desc_->Float(name, value);
    return name;
  }
  std::string Int(int value) {
    const std::string name = NextName();
    desc_->Int(name, value);
    return name;
  }

  std::string NextName() { return Format("e%d_%d", index_, count_++); }
  void Line(const std::string& text) { desc_->tensors[desc_->Written()].epilogue += text + "\n"; }

  const GpuInfo& gpu_;
  const bool computes_half_;
  const Graph& graph_;
  const Shape& out_;
  KernelDesc* desc_;
  int index_;
  int count_ = 0;
};

// Whether the first operand of a merged step is of ints.
bool FirstIsInt(const Graph& graph, const FusedStep& step, const Value& out) {
  const bool hole_first = step.operand == 0 || step.inputs.empty();
  return !IsFloat(hole_first ? out.element : graph.value(step.inputs[0]).element);
}

}  // namespace

Status BroadcastShape(Graph* graph, const Node& node) {
  Value& out = graph->value(node.outputs[0]);
  Shape shape = graph->shape(node.inputs[0]);
  int rank = graph->value(node.inputs[0]).rank;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Value& in = graph->value(node.inputs[i]);
    rank = std::max(rank, in.rank);
    for (int a = kFirstAxis; a < 4; ++a) {
      const int n = shape.axis(a), m = in.shape.axis(a);
      if (n != m && n != 1 && m != 1) {
        return Unsupported("shapes %s and %s cannot be broadcast to one", ToString(shape).c_str(),
                           ToString(in.shape).c_str());
      }
      shape.set_axis(a, std::max(n, m));
    }
  }
  out.shape = shape;
  out.rank = rank;
  return Status();
}

ConstantData FoldElementwise(const Op& op, const Graph& graph, const Node& node) {
  const Value& out = graph.value(node.outputs[0]);
  const bool selects = op.operands == 3;
  if ((!op.value && !selects) || !IsSmallConstant(graph, node)) return nullptr;
  std::vector<std::vector<double>> operands;
  for (ValueId id : node.inputs) {
    const Value& value = graph.value(id);
    const bool of_floats = IsFloat(value.element);
    const SharedFloats floats = of_floats ? value.constant->floats() : nullptr;
    const std::vector<int32_t> ints = of_floats ? std::vector<int32_t>() : value.constant->ints();
    operands.emplace_back();
    for (int place : PlacesOf(out.shape, StepsOf(value.shape))) {
      const size_t at = static_cast<size_t>(place);
      operands.back().push_back(of_floats ? static_cast<double>((*floats)[at]) : ints[at]);
    }
  }
  const std::vector<double>&a = operands[0], &b = operands[operands.size() > 1];
  const bool of_ints = !IsFloat(graph.value(node.inputs[0]).element);
  std::vector<float> floats;
  std::vector<int32_t> ints;
  for (size_t i = 0; i < a.size(); ++i) {
    double made = !selects ? op.value(a[i], b[i], of_ints) : a[i] != 0 ? b[i] : operands[2][i];
    if (made != made)
      return nullptr;  // no NaN is equal to itself: numbers would differ when folded again
    if (node.attributes.Has("low")) {
      made = std::max(made, static_cast<double>(node.attributes.Float("low")));
      made = std::min(made, static_cast<double>(node.attributes.Float("high")));
    }
    if (!of_ints && out.element == Element::kInt32) {
      made = std::min(std::max(made, double{INT32_MIN}), double{INT32_MAX});  // as CAST does
    }
    if (IsFloat(out.element)) {
      floats.push_back(static_cast<float>(made));
    } else if (made > -2147483649.0 && made < 2147483648.0) {
      ints.push_back(static_cast<int32_t>(made));
    } else {
      return nullptr;  // beyond 32 bits
    }
  }
  return IsFloat(out.element) ? std::make_shared<const Constant>(std::move(floats))
                              : std::make_shared<const Constant>(out.element, std::move(ints));
}

Status ElementwiseKernels(const KernelContext& context, const Graph& graph, const Node& node,
                          KernelList* list) {
  const Op* op = FindOp(node.op);
  const Value& out = graph.value(node.outputs[0]);
  const Shape& shape = out.shape;
  const bool comes_in = graph.value(node.inputs[0]).dense;
  if (comes_in || out.dense) {
    list->kernels.push_back((comes_in ? ToSlices : FromSlices)(context, graph, node));
    return Status();
  }
  KernelDesc& kernel = list->Add(node.op.c_str());
  kernel.Write("dst", node.outputs[0]);
  StepWriter writer(context, graph, out, &kernel, 0);
  const bool is_int = !IsFloat(graph.value(node.inputs[0]).element);
  QUADRA_RETURN_IF_ERROR(writer.Write(*op, node.inputs, /*hole=*/-1, is_int, node.attributes));
  if (const auto own = CpuKernelsFor(*context.gpu).elementwise) {
    own(shape, &kernel);
  } else {
    kernel.body = Text(kPixel).Set("half", context.computes_half() && IsFloat(out.element));
    kernel.Grid(shape.w, shape.h, shape.slices() * shape.b);
    SetGroup(*context.gpu, &kernel);
  }
  return Status();
}

Bounds::Bounds() : low(-std::numeric_limits<float>::infinity()), high(-low) {}

void Bounds::AddNumbers(KernelDesc* kernel) const {
  kernel->Float("low", low);
  kernel->Float("high", high);
  if (!round()) return;
  kernel->Float("scale", scale);
  kernel->Float("inverse", inverse);
}

int TakeBounds(const Node& node, Bounds* bounds) {
  const std::vector<FusedStep>& steps = node.fused;
  size_t taken = 0;
  if (taken < steps.size() && steps[taken].op == "clamp") {
    bounds->low = steps[taken].attributes.Float("low");
    bounds->high = steps[taken++].attributes.Float("high");
  }
  if (taken < steps.size() && steps[taken].op == "requantize") {
    const Attributes& grid = steps[taken++].attributes;
    bounds->scale = grid.Float("scale");
    bounds->inverse = grid.Float("inverse");
    const auto within = [&](float limit) {
      return std::min(std::max(limit * bounds->inverse, grid.Float("low")), grid.Float("high"));
    };
    bounds->low = within(bounds->low);
    bounds->high = within(bounds->high);
  }
  return static_cast<int>(taken);
}

std::string Bounded(bool round, const std::string& sum, bool in_half) {
  return round     ? "requantize(" + sum + ", inverse, scale, low, high)"
         : in_half ? "bounded_medium(" + sum + ", low, high)"
                   : "bounded(" + sum + ", low, high)";
}

Status AttachEpilogue(const KernelContext& context, const Graph& graph, const Node& node, int first,
                      KernelDesc* desc) {
  const Value& out = graph.value(node.outputs[0]);
  for (size_t i = static_cast<size_t>(first); i < node.fused.size(); ++i) {
    const FusedStep& step = node.fused[i];
    const Op* op = FindOp(step.op);
    if (!op || !op->formula)
      return Internal("'%s' cannot be merged into '%s'", step.op.c_str(), node.op.c_str());
    // Index 0 is the step that a kernel's own body may have written. Steps that the body did itself
    // do not count: texts with and without a clamp are one.
    StepWriter writer(context, graph, out, desc, static_cast<int>(i) - first + 1);
    QUADRA_RETURN_IF_ERROR(writer.Write(*op, step.inputs, step.operand,
                                        FirstIsInt(graph, step, out), step.attributes));
  }
  return Status();
}

bool EpilogueAllowsPlaneAsRow(const Graph& graph, const Node& node) {
  const Shape& out = graph.shape(node.outputs[0]);
  for (const FusedStep& step : node.fused) {
    for (ValueId operand : step.inputs) {
      const Shape& shape = graph.shape(operand);
      const bool one_pixel = shape.w == 1 && shape.h == 1;
      // A plane one pixel wide is read at x = 0, so that it cannot be walked as a row.
      if (!one_pixel && (shape.w != out.w || shape.h != out.h || shape.w == 1)) return false;
    }
  }
  return true;
}

}  // namespace quadra
