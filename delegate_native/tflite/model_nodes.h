// The nodes of a subgraph, as a context shows them while a delegate is being applied.
#ifndef QUADRA_TFLITE_MODEL_NODES_H_
#define QUADRA_TFLITE_MODEL_NODES_H_

#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/tflite/abi.h"
#include "delegate_native/tflite/quiet.h"

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
  void CopyContext(const TfLiteContext& context);
  // The stored context. Other subgraphs are the interpreter's.
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

// The delegate's kernel for all nodes of a subgraph that no interpreter is to run.
constexpr char kUnrunKernel[] = "QuadraUnrun";
// The same of a subgraph that nodes call, with its own nodes where that kernel has taken them.
Status ReadCalled(TfLiteContext* context, ModelNodes* model);

// The subgraphs that a node may run: branches, parts of a loop, the decomposition of a composite,
// the computation of a scatter or of windows.
struct Subgraphs {
  int count = 0;
  int indices[2] = {};

  const int* begin() const { return indices; }
  const int* end() const { return indices + count; }
};
Subgraphs SubgraphsOf(const ModelNodes::Entry& entry);

// what(index, context) for each subgraph of the model.
template <typename What>
void ForEachSubgraph(TfLiteContext* context, What what) {
  for (int i = 0;; ++i) {
    TfLiteContext* one = AcquireIfThere(context, i);
    if (!one) return;
    what(i, one);
    // It stays as it is while the delegate is applied to it.
    if (one != context) context->ReleaseSubgraphContext(context, i);
  }
}

}  // namespace quadra

#endif  // QUADRA_TFLITE_MODEL_NODES_H_
