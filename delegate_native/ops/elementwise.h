// What all elementwise ops share: numpy's broadcasting, the step text that can be merged into any
// producer, and the kernel that runs a step by itself.
#ifndef QUADRA_OPS_ELEMENTWISE_H_
#define QUADRA_OPS_ELEMENTWISE_H_

#include <string>
#include <vector>

#include "delegate_native/ops/op.h"

namespace quadra {

// Writes the text of one step into a kernel's epilogue. Names are unique per step.
class StepWriter {
 public:
  StepWriter(const Graph& graph, const Shape& out, KernelDesc* desc, int index)
      : graph_(graph), out_(out), desc_(desc), index_(index) {}

  // An expression (vec4) that reads the operand at the current place, broadcast to the output. An
  // operand with fewer channels (and more than one) is zero beyond them: see merge_channel_padding.
  std::string Read(ValueId operand);
  // A number as an argument of the kernel: nodes that differ only in it share one program.
  std::string Float(float value);
  // Adds a line; `v` is the value so far.
  void Line(const std::string& text);

 private:
  std::string ReadShort(const std::string& name, const Shape& shape, const char* x, const char* y);

  const Graph& graph_;
  const Shape& out_;
  KernelDesc* desc_;
  int index_;
  int count_ = 0;
};

// Imports an op of one operand and no options.
Status ImportUnary(const char* op, Importer* importer);
// Output shape of a node by numpy's rules over all its inputs.
Status BroadcastShape(Graph* graph, const Node& node);
// One kernel that reads input 0, runs the step and writes.
Status ElementwiseKernels(const KernelContext& context, const Graph& graph, const Node& node,
                          KernelList* list);
// The step that a node by itself stands for.
FusedStep StepOf(const Node& node);

// If the first merged step is a clamp, gives its limits and returns 1 (steps taken); else sets
// -inf, +inf and returns 0. For kernels that clamp in registers with limits as arguments.
int TakeClamp(const Node& node, float* low, float* high);
// Appends node.fused[first…] to the kernel's epilogue.
Status AttachEpilogue(const Graph& graph, const Node& node, int first, KernelDesc* desc);
// True when every operand of the merged steps has the output's full shape or is one pixel: then
// a kernel may address the output as one long row (x = y * width + x, y = 0).
bool EpilogueAllowsPlaneAsRow(const Graph& graph, const Node& node);

}  // namespace quadra

#endif  // QUADRA_OPS_ELEMENTWISE_H_
