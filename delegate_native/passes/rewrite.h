// Helpers of passes: questions about a graph, and constants folded into convolutions.
#ifndef QUADRA_PASSES_REWRITE_H_
#define QUADRA_PASSES_REWRITE_H_

#include <string>
#include <vector>

#include "delegate_native/graph/graph.h"
#include "delegate_native/graph/window.h"
#include "delegate_native/ops/op.h"

namespace quadra {

// The row of the node's op; an empty row where there is no such op.
const Op& OpOf(const Node& node);

bool IsConvolution(const Node& node);
// One whose results each come from a window of the source (WindowOf): it is not transposed.
bool SlidesWindow(const Node& node);
// A dense one whose results each come from one pixel at the same place.
bool IsPixelConvolution(const Graph& graph, const Node& node);

// Times that nodes read the value, plus one for each graph output that it is.
int CountUses(const Graph& graph, ValueId id);

// Whether any input of the node is a constant.
bool ReadsConstant(const Graph& graph, const Node& node);

// The constant as one number per channel of `shape`, if reading it (broadcast) means that.
bool ChannelValues(const Graph& graph, ValueId id, const Shape& shape, std::vector<float>* values);

// Whether a PAD with these attributes writes the float 0.
bool PadsWithZeros(const Attributes& attributes);

// Whether a PAD makes this axis of Shape longer.
bool PadsAxis(const Node& node, int axis);

// The window of a convolution that slides one and whose shapes were inferred.
Window WindowOf(const Graph& graph, const Node& node);

// The nodes that make values, as the graph was when it was looked at: for passes that look for
// several nodes at once. Those that were found since `used` was cleared are listed there.
class Makers {
 public:
  explicit Makers(const Graph& graph);
  // A node without merged steps; null: there is none, or it is another op.
  const Node* Of(ValueId id);
  const Node* Of(ValueId id, const char* op);
  // The same, if nobody else reads the value.
  const Node* Only(ValueId id, const char* op);
  // The index of Of's node.
  int IndexOf(ValueId id) const { return maker_[static_cast<size_t>(id)]; }
  // The only number of a constant of floats.
  bool IsNumber(ValueId id, float* number) const;

  std::vector<const Node*> used;

 private:
  const Graph* graph_;
  std::vector<int> maker_, uses_;  // by value; -1: an input or a constant
};

// Adds `from`'s model nodes to those that `node` stands for.
void AddSources(const Node& from, Node* node);

// Takes node `i` out, whose result equals its first input: readers read that. False where the
// result has to stay: a graph output that no other node can make, a rank that a reader asks for.
bool Bypass(Graph* graph, int i);

// A dense value like this one (Value::dense), of floats or of ints of 32 bits.
ValueId AddDense(Graph* graph, ValueId like, std::string name, int copy_of = 0);

// Appends a node that copies a value, as exactly as that is kept.
Node& AddCopy(const Graph& graph, ValueId from, ValueId to, std::vector<Node>* nodes);
// The same to a dense value; for the model's nodes that (*nodes)[at] stands for.
Node& AddCopyOf(ValueId from, int copy_of, size_t at, Graph* graph, std::vector<Node>* nodes);

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

// Attributes `kind` of the op `reduce`, as in ops/reduce.h.
constexpr int kSum = 0, kLargest = 3;

// SUM, which is a `reduce`.
inline bool AddsUp(const Node& node) {
  return node.op == "reduce" && node.attributes.Int("kind") == kSum;
}

}  // namespace quadra

#endif  // QUADRA_PASSES_REWRITE_H_
