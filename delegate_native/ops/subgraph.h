// Subgraphs that a node names: the decomposition of a composite, the computation of a scatter, the
// parts of a loop.
#ifndef QUADRA_OPS_SUBGRAPH_H_
#define QUADRA_OPS_SUBGRAPH_H_

#include <algorithm>
#include <vector>

#include "delegate_native/tflite/abi.h"
#include "delegate_native/tflite/importer.h"
#include "delegate_native/tflite/model_nodes.h"

namespace quadra {

// Another subgraph of the model, for as long as this lives.
class Subgraph {
 public:
  // `outer`: the subgraphs that this one is in. Those stay as they are.
  Subgraph(TfLiteContext* from, int index, const std::vector<const TfLiteContext*>& outer)
      : from_(from), index_(index) {
    if (from->AcquireSubgraphContext(from, index, &context_) != kTfLiteOk) context_ = nullptr;
    is_outer_ = std::find(outer.begin(), outer.end(), context_) != outer.end();
  }
  ~Subgraph() {
    if (context_ && !is_outer_) from_->ReleaseSubgraphContext(from_, index_);
  }
  // Whether it is there, and no part of itself.
  bool ok() const { return context_ && !is_outer_; }
  Subgraph(const Subgraph&) = delete;
  Subgraph& operator=(const Subgraph&) = delete;
  TfLiteContext* context() const { return context_; }

 private:
  TfLiteContext* from_;
  int index_;
  TfLiteContext* context_ = nullptr;
  bool is_outer_ = false;
};

// The one among a subgraph's tensors that is the node's output. A context does not tell the order
// of a subgraph's outputs: types and sizes do, where they differ. -1: they do not; `fitting`: how
// many may be it.
int FindOutput(const Importer& node, int output, const TfLiteContext& subgraph,
               const std::vector<int>& among, int* fitting);

// Whether both are of one type and size.
inline bool SameTensor(const TfLiteTensor& a, const TfLiteTensor& b) {
  return a.type == b.type && a.dims && b.dims && a.dims->size == b.dims->size &&
         std::equal(a.dims->data, a.dims->data + a.dims->size, b.dims->data);
}

}  // namespace quadra

#endif  // QUADRA_OPS_SUBGRAPH_H_
