// Which nodes of a model the delegate takes, and why not the others.
#ifndef QUADRA_DELEGATE_VERDICTS_H_
#define QUADRA_DELEGATE_VERDICTS_H_

#include <string>
#include <vector>

#include "delegate_native/delegate/quadra.h"
#include "delegate_native/device/gpu_info.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/kernel/dialect.h"
#include "delegate_native/tflite/int_array.h"
#include "delegate_native/tflite/known_tensors.h"
#include "delegate_native/tflite/model_nodes.h"

namespace quadra {

struct Verdict {
  int node = -1;
  std::string op;    // "CONV_2D"
  std::string name;  // of the node's first output tensor
  bool on_gpu = false;
  // Its result is a constant, which this delegate folds: PlaceFoldedNodes says where the node goes.
  bool is_constant = false;
  int partition = -1;
  // Why it is left to the CPU; on the GPU: how it is computed, where its op does not say that.
  std::string reason;
};

// The same for C and for reports; its texts are those of `verdict`.
QuadraVerdict ForC(int subgraph, const Verdict& verdict);

// A verdict for each node: its op and name, and no decision.
std::vector<Verdict> NameNodes(const TfLiteContext& context, const ModelNodes& model);

// The verdicts on a model's nodes, and what judging them tells of its tensors: constants that
// DEQUANTIZE and DENSIFY make, and what follows from shapes.
struct Judged {
  std::vector<Verdict> verdicts;
  KnownTensors known;
};

// Judges every node alone: accepted when its import, shape inference and kernels succeed for the
// target. `allows_quantized`: tensors of quantised integers.
Judged Judge(TfLiteContext* context, const ModelNodes& model, const GpuInfo& target,
             Precision precision, const std::string& float32_nodes, bool allows_quantized);

// Null: out of memory.
IntArray NodesOnGpu(const std::vector<Verdict>& verdicts);

// Puts each node whose result is a constant where all its readers are: on the GPU nobody computes
// it, so that a reader on the CPU would find nothing. To be called after any change of a verdict.
void PlaceFoldedNodes(const ModelNodes& model, std::vector<Verdict>* verdicts);

// Leaves nodes to the CPU, and what follows from that.
void KeepOnCpu(const ModelNodes& model, const std::vector<int>& nodes, const std::string& reason,
               std::vector<Verdict>* verdicts);

}  // namespace quadra

#endif  // QUADRA_DELEGATE_VERDICTS_H_
