#include "delegate_native/ops/elementwise.h"

#include <algorithm>
#include <limits>

#include "delegate_native/ops/unroll.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {

std::string StepWriter::Read(ValueId operand) {
  const Value& value = graph_.value(operand);
  const Shape& shape = value.shape;
  if (value.constant && shape.elements() == 1) {
    return "vec4(" + Float(value.constant->front()) + ")";
  }
  const std::string name = Format("e%d_%d", index_, count_++);
  desc_->Read(name, operand);
  // The written tensor's slices tell batch and slice apart where only one of them is broadcast.
  const std::string slices = desc_->epilogue_tensor + "_s";
  const char* x = shape.w == 1 ? "0" : "e_x";
  const char* y = shape.h == 1 ? "0" : "e_y";
  const bool one_batch = shape.b == 1 && out_.b > 1;
  if (shape.c == 1 && out_.c > 1) {
    const std::string batch = shape.b == 1 ? "0" : "e_s / " + slices;
    return "vec4(read_" + name + "(" + x + ", " + y + ", " + batch + ").x)";
  }
  if (shape.c < out_.c) return ReadShort(name, shape, x, y);
  const std::string s = one_batch ? "e_s % " + slices : "e_s";
  return "read_" + name + "(" + x + ", " + y + ", " + s + ")";
}

std::string StepWriter::ReadShort(const std::string& name, const Shape& shape, const char* x,
                                  const char* y) {
  const std::string value = name + "_read", slice = name + "_slice";
  const std::string slices = desc_->epilogue_tensor + "_s";
  const std::string batch = shape.b == 1 ? "" : "e_s / " + slices + " * " + name + "_s + ";
  Line("int " + slice + " = e_s % " + slices + "; vec4 " + value + " = vec4(0.0f);");
  Line(Block("if (" + slice + " < " + name + "_s)",
             value + " = read_" + name + "(" + x + ", " + y + ", " + batch + slice + ");\n"));
  return value;
}

std::string StepWriter::Float(float value) {
  const std::string name = Format("e%d_%d", index_, count_++);
  desc_->Float(name, value);
  return name;
}

void StepWriter::Line(const std::string& text) { desc_->epilogue += text + "\n"; }

Status ImportUnary(const char* op, Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  ValueId x;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &x));
  return importer->AddNode(op, {x}, {});
}

Status BroadcastShape(Graph* graph, const Node& node) {
  Value& out = graph->value(node.outputs[0]);
  Shape shape = graph->shape(node.inputs[0]);
  int rank = graph->value(node.inputs[0]).rank;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Value& in = graph->value(node.inputs[i]);
    rank = std::max(rank, in.rank);
    for (int a = 0; a < 4; ++a) {
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

FusedStep StepOf(const Node& node) {
  FusedStep step;
  step.op = node.op;
  step.inputs.assign(node.inputs.begin() + 1, node.inputs.end());
  step.attributes = node.attributes;
  return step;
}

Status ElementwiseKernels(const KernelContext& context, const Graph& graph, const Node& node,
                          KernelList* list) {
  const Op* op = FindOp(node.op);
  const Shape& out = graph.shape(node.outputs[0]);
  KernelDesc& kernel = list->Add(node.op.c_str());
  kernel.Write("dst", node.outputs[0]);
  // The first operand is read as a step's operand is: it may be the one that is broadcast.
  StepWriter writer(graph, out, &kernel, 0);
  const std::string first = writer.Read(node.inputs[0]);
  QUADRA_RETURN_IF_ERROR(op->step(graph, StepOf(node), &writer));
  kernel.epilogue.insert(0, "e_v = " + first + ";\n");
  if (context.gpu->is_cpu()) {
    // One row per work-item.
    kernel.body =
        "int y = GLOBAL_X; int s = GLOBAL_Y;\n"
        "if (y >= dst_h || s >= dst_s * dst_b) { return; }\n"
        "for (int x = 0; x < dst_w; ++x) { write_dst(vec4(0.0f), x, y, s); }\n";
    kernel.Grid(out.h, out.slices() * out.b, 1);
  } else {
    kernel.body =
        "int x = GLOBAL_X; int y = GLOBAL_Y; int s = GLOBAL_Z;\n"
        "if (x >= dst_w || y >= dst_h || s >= dst_s * dst_b) { return; }\n"
        "write_dst(vec4(0.0f), x, y, s);\n";
    kernel.Grid(out.w, out.h, out.slices() * out.b);
    kernel.Group(8, 4, 1);
  }
  return Status();
}

int TakeClamp(const Node& node, float* low, float* high) {
  const float infinity = std::numeric_limits<float>::infinity();
  *low = -infinity;
  *high = infinity;
  if (node.fused.empty() || node.fused[0].op != "clamp") return 0;
  *low = node.fused[0].attributes.Float("low");
  *high = node.fused[0].attributes.Float("high");
  return 1;
}

Status AttachEpilogue(const Graph& graph, const Node& node, int first, KernelDesc* desc) {
  for (size_t i = static_cast<size_t>(first); i < node.fused.size(); ++i) {
    const FusedStep& step = node.fused[i];
    const Op* op = FindOp(step.op);
    if (!op || !op->step)
      return Internal("'%s' cannot be merged into '%s'", step.op.c_str(), node.op.c_str());
    // Index 0 is the step that a kernel's own body may have written. Steps that the body did itself
    // do not count: texts with and without a clamp are one.
    StepWriter writer(graph, graph.shape(node.outputs[0]), desc, static_cast<int>(i) - first + 1);
    QUADRA_RETURN_IF_ERROR(op->step(graph, step, &writer));
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
