// An op: one file under ops/, three functions. Import reads the TFLite node, shape computes the
// outputs' shapes from the inputs' (again whenever a model is resized), kernels makes the text.
// A node is accepted when all three succeed for the target, and never otherwise.
#ifndef QUADRA_OPS_OP_H_
#define QUADRA_OPS_OP_H_

#include <string>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/device/gpu_info.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/kernel/dialect.h"
#include "delegate_native/kernel/kernel.h"

namespace quadra {

class Importer;

// What a kernel is made for.
struct KernelContext {
  const GpuInfo* gpu = nullptr;
  Precision precision = Precision::kF32;
  // Where a tensor of this shape is kept.
  Storage StorageOf(const Shape& shape) const;
  // The same for a kernel's text. Constant operands are read rarely and are small: always buffers.
  TensorLayout LayoutOf(const Shape& shape, bool constant) const;
  // The language, and how the device wants it written.
  Dialect DialectOf() const;
};

// Tensors that a node needs between its kernels: ids start after the graph's values.
struct KernelList {
  std::vector<KernelDesc> kernels;
  std::vector<Shape> scratch;
  int first_scratch = 0;  // id of scratch[0]
  int steps_taken = 0;    // merged steps that the op's own kernel does (see TakeClamp)

  int AddScratch(Shape shape) {
    scratch.push_back(shape);
    return first_scratch + static_cast<int>(scratch.size()) - 1;
  }
  KernelDesc& Add(const char* name) {
    kernels.emplace_back(name);
    return kernels.back();
  }
};

class StepWriter;

struct Op {
  const char* name;
  // TFLite op codes that this file imports, ended by -1; custom ops by name.
  int builtins[6];
  const char* custom;
  int max_version;

  Status (*import)(Importer* importer);
  // Sets shape and rank of the outputs from the inputs and attributes.
  Status (*shape)(Graph* graph, const Node& node);
  // Appends the kernels of the node. Those that write output 0, each a part of it, get the steps of
  // node.fused that the op does not do itself (see TakeClamp) as their epilogue.
  Status (*kernels)(const KernelContext& context, const Graph& graph, const Node& node,
                    KernelList* list);
  // Elementwise ops: the text that turns `vec4 v` into the result; null for other ops.
  // Such an op needs no kernels function of its own (ElementwiseKernels serves it).
  Status (*step)(const Graph& graph, const FusedStep& step, StepWriter* writer);
};

const Op* FindOp(const std::string& name);
// The op that imports a TFLite node; null when there is none.
const Op* FindOpFor(int builtin, const char* custom_name);

// Shapes of all values from the graph's inputs.
Status InferShapes(Graph* graph);

// Kernels of one node, epilogue attached.
Status MakeKernels(const KernelContext& context, const Graph& graph, const Node& node,
                   KernelList* list);

}  // namespace quadra

#endif  // QUADRA_OPS_OP_H_
