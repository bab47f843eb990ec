// The passes, one per file. Each returns how many places it changed.
#ifndef QUADRA_PASSES_PASSES_H_
#define QUADRA_PASSES_PASSES_H_

#include "delegate_native/base/function.h"
#include "delegate_native/graph/graph.h"

namespace quadra {

// Whether a device can run a node, which is not yet in the graph; none: it can.
using Fits = Function<bool(const Graph& graph, const Node& node)>;

int FoldAddIntoBias(Graph* graph);
int FoldMulIntoWeights(Graph* graph);
int FoldPadding(Graph* graph);
// Not of the pipeline: marks the nodes that a plan of half precision keeps in float32, and returns
// how many. What passes between them and others is not yet converted (session/hold_float32.h).
int KeepBeyondHalf(Graph* graph);
int MergeChannelPadding(Graph* graph);
int MergeElementwise(Graph* graph, const Fits& fits);
int MergeReshapes(Graph* graph);
int MoveResizeAfterConv(Graph* graph);
int RemoveIdentity(Graph* graph);
int RemoveIdleRounding(Graph* graph);
int RemoveOutputReshape(Graph* graph);
int RemoveUnread(Graph* graph);
int SplitConvOfConcat(Graph* graph);
int SplitPixelDepthwise(Graph* graph);

// Before the pipeline: numbers of 64 bits become ints. An error is one of InferShapes.
Status SplitInt64(Graph* graph);

}  // namespace quadra

#endif  // QUADRA_PASSES_PASSES_H_
