// What passes share: questions about a graph, and numbers folded into convolutions.
#ifndef QUADRA_PASSES_REWRITE_H_
#define QUADRA_PASSES_REWRITE_H_

#include <vector>

#include "delegate_native/graph/graph.h"
#include "delegate_native/graph/window.h"

namespace quadra {

// conv2d, depthwise_conv2d, transpose_conv: inputs are source, weights and (optional) bias.
bool IsConvolution(const Node& node);
// conv2d whose results each come from one pixel at the same place.
bool IsPixelConvolution(const Graph& graph, const Node& node);
// One result per place from the operands at that place; can be merged into a producer.
bool IsElementwise(const Node& node);

// Times that nodes read the value, plus one for each graph output that it is.
int CountUses(const Graph& graph, ValueId id);

// Whether any input of the node is a constant.
bool ReadsConstant(const Graph& graph, const Node& node);

// The constant as one number per channel of `shape`, if reading it (broadcast) means that.
bool ChannelValues(const Graph& graph, ValueId id, const Shape& shape, std::vector<float>* values);

// The window of a conv2d or depthwise_conv2d whose shapes were inferred.
Window WindowOf(const Graph& graph, const Node& node);

// Adds `from`'s model nodes to those that `node` stands for.
void AddSources(const Node& from, Node* node);

// Takes nodes out whose results nobody reads; returns how many.
int RemoveDeadNodes(Graph* graph);

// A convolution's constants, to be changed and put back as new ones.
class Filters {
 public:
  // False where weights or bias are computed, or the node is no plain convolution.
  static bool Read(const Graph& graph, const Node& node, Filters* filters);
  void Write(Graph* graph, Node* node) const;

  int outputs() const { return static_cast<int>(bias_.size()); }
  // Calls fn(weight, output channel, input channel) for all weights.
  template <typename Fn>
  void ForEach(Fn fn) {
    size_t at = 0;
    for (int o = 0; o < shape_.b; ++o) {
      for (int t = 0; t < shape_.h * shape_.w; ++t) {
        for (int i = 0; i < shape_.c; ++i) {
          if (depthwise_) {
            fn(weights_[at++], i, i / multiplier_);
          } else {
            fn(weights_[at++], o, o / outputs_per_group_ * shape_.c + i);
          }
        }
      }
    }
  }
  std::vector<float>& bias() { return bias_; }

 private:
  Shape shape_;
  bool depthwise_ = false;
  int multiplier_ = 1, outputs_per_group_ = 1;
  std::vector<float> weights_, bias_;
};

}  // namespace quadra

#endif  // QUADRA_PASSES_REWRITE_H_
