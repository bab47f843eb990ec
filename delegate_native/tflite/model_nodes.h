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

  // Makes it last, and the tensors as they are now: a context shows nodes only while a delegate is
  // being applied, and a resize changes tensors. No longer than the interpreter, though.
  void Keep(const TfLiteContext& context);
  // What was kept; shows no other subgraphs.
  TfLiteContext* kept() { return &kept_; }

 private:
  std::vector<TfLiteTensor> tensors_;
  std::vector<int> dims_;  // of the tensors, each behind its count
  struct KeptNode {
    TfLiteNode node;
    TfLiteRegistration registration;
  };
  std::vector<KeptNode> nodes_;
  TfLiteContext kept_{};
};

// Reads the nodes and checks every index of a tensor, so that nobody else has to.
Status ReadModel(TfLiteContext* context, ModelNodes* model);

}  // namespace quadra

#endif  // QUADRA_TFLITE_MODEL_NODES_H_
