// The nodes of a subgraph, as a context shows them while a delegate is being applied.
#ifndef QUADRA_TFLITE_MODEL_NODES_H_
#define QUADRA_TFLITE_MODEL_NODES_H_

#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/tflite/abi.h"

namespace quadra {

// In execution order.
struct ModelNodes {
  std::vector<int> plan;
  struct Entry {
    const TfLiteNode* node = nullptr;
    const TfLiteRegistration* registration = nullptr;
    Status status;  // whether the node names only tensors that there are
  };
  std::vector<Entry> entries;  // parallel to plan
  std::vector<int> outputs;    // tensors
};

// Reads the nodes and checks every index of a tensor, so that nobody else has to.
Status ReadModel(TfLiteContext* context, ModelNodes* model);

}  // namespace quadra

#endif  // QUADRA_TFLITE_MODEL_NODES_H_
