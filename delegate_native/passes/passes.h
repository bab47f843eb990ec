// The passes, one per file. Each returns how many places it changed.
#ifndef QUADRA_PASSES_PASSES_H_
#define QUADRA_PASSES_PASSES_H_

#include <string>
#include <vector>

#include "delegate_native/base/lean/function.h"
#include "delegate_native/graph/graph.h"

namespace quadra {

// Whether a device can run a node, which is not yet in the graph; none: it can.
using Fits = Function<bool(const Graph& graph, const Node& node)>;

int CancelTransposes(Graph* graph, const Fits& fits);
int FoldAddIntoBias(Graph* graph);
int FoldMulIntoWeights(Graph* graph);
int FoldPadding(Graph* graph);
int FuseAttention(Graph* graph, const Fits& fits);
int FuseGroupNorm(Graph* graph, const Fits& fits);
int FuseNorm(Graph* graph, const Fits& fits);
int FuseRope(Graph* graph, const Fits& fits);
int FuseRopeOfNorm(Graph* graph, const Fits& fits);
int FuseSilu(Graph* graph);
// Not of the pipeline: marks the nodes that a plan of half precision keeps in float32, and returns
// how many. What passes between them and others is not yet converted (HoldFloat32).
int KeepBeyondHalf(Graph* graph);
int MergeChannelPadding(Graph* graph);
int MergeElementwise(Graph* graph, const Fits& fits);
int MergeEqualNodes(Graph* graph);
int MergeMoves(Graph* graph, const Fits& fits);
int MergeReshapes(Graph* graph);
int MergeTransposes(Graph* graph);
int MoveResizeAfterConv(Graph* graph);
int RemoveIdentity(Graph* graph);
int RemoveRedundantRounding(Graph* graph);
int RemoveOutputReshape(Graph* graph);
int RemovePixelReshapes(Graph* graph);
int RemoveProductReshapes(Graph* graph);
int RemoveUnread(Graph* graph);
int SplitConvOfConcat(Graph* graph);
int SplitPixelDepthwise(Graph* graph);

// Before the pipeline: numbers of 64 bits become ints. An error is one of InferShapes.
Status SplitInt64(Graph* graph);

// After the pipeline: marks the nodes that stand for one of the model's nodes in `list` ("3,7-9"),
// and their operands and results. A plan of half precision stores and computes these in float32.
void HoldFloat32(const std::string& list, Graph* graph);

// After HoldFloat32, where a plan computes in half: marks the convolutions whose products and sums
// are floats all the same (Node::float_sums), and returns how many.
int ChooseFloatSums(Graph* graph);

// After all others, for the planner: the graph's inputs and outputs become dense values
// (Value::dense), which nodes of their own bring to the others and back.
void AddBorders(Graph* graph);
// After AddBorders: outputs that are updated inputs lie in their memory (Value::memory_of). `fits`
// says which nodes can read dense values; it is there. Returns how many outputs do.
int UpdateInPlace(Graph* graph, const Fits& fits);
// After UpdateInPlace: small tensors of reshapes and slices that lie in each other's memory
// (Graph::IsView), where nothing is to be moved. Returns how many nodes move nothing.
int ShareMemory(Graph* graph, const Fits& fits);
// After AddBorders: each of the graph's `tensors` that a node stores is also copied
// (Value::copy_of).
void CopyTensors(Graph* graph);

// Two copies that should be the same.
struct Check {
  int node = 0;        // of the graph: its results are the first copies
  float step = 0.0f;   // of the grid that results are on, and may be one beside; 0: of none
  bool jumps = false;  // some results may be far off where an operand hardly differs
};

// After AddBorders: each node is there twice, as it was and as a plain one (Node::plain), and both
// results are copied: those of checks[i] have the numbers 2 i and 2 i + 1 (Value::copy_of less
// one). Later nodes read the plain one's. Nothing writes the graph's outputs.
void ComputeTwice(Graph* graph, std::vector<Check>* checks);

}  // namespace quadra

#endif  // QUADRA_PASSES_PASSES_H_
