// Which nodes of a model the delegate takes, and why not the others.
#ifndef QUADRA_DELEGATE_VERDICTS_H_
#define QUADRA_DELEGATE_VERDICTS_H_

#include <string>
#include <vector>

#include "delegate_native/device/gpu_info.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/kernel/dialect.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {

struct Verdict {
  int node = -1;
  std::string op;    // "CONV_2D"
  std::string name;  // of the node's first output tensor
  bool on_gpu = false;
  int partition = -1;
  std::string reason;  // why it is left to the CPU
};

// Nodes of the model in execution order.
struct ModelNodes {
  std::vector<int> plan;
  struct Entry {
    const TfLiteNode* node = nullptr;
    const TfLiteRegistration* registration = nullptr;
  };
  std::vector<Entry> entries;  // parallel to plan
  std::vector<int> outputs;    // tensors
};

Status ReadModel(TfLiteContext* context, ModelNodes* model);

// Judges every node alone: accepted when its import, shape inference and kernels succeed for the
// target. Fills `constants` with what DEQUANTIZE and DENSIFY make of constants.
std::vector<Verdict> Judge(TfLiteContext* context, const ModelNodes& model, const GpuInfo& target,
                           Precision precision, ConstantPool* constants);

}  // namespace quadra

#endif  // QUADRA_DELEGATE_VERDICTS_H_
