// Orders of axes, and nodes that bring values into them.
#ifndef QUADRA_PASSES_TRANSPOSES_H_
#define QUADRA_PASSES_TRANSPOSES_H_

#include <vector>

#include "delegate_native/graph/graph.h"

namespace quadra {

// Axis i of a result is axis order[i] of the source, both counted from the model's first one.
using Order = std::vector<int>;

bool IsTranspose(const Node& node);
const Order& OrderOf(const Node& node);

// The order of a transpose by `first` whose result is transposed by `second`.
Order Composed(const Order& first, const Order& second);
Order Inverted(const Order& order);
bool IsIdentity(const Order& order);
// Channels last, first, of a tensor of this rank: pixels between the batch and the channels.
Order ChannelsToLast(int rank);

// The size of the model's axis i.
int SizeOf(const Value& value, int i);
// The sizes of a value, in another order.
Shape Transposed(const Value& value, const Order& order);
// Whether no number moves: axes of more than 1 keep their order.
bool MovesOnlyOnes(const Value& source, const Order& order);

// Nodes that transpose or reshape `source` into `result`, which has its shape already.
Node TransposeOf(ValueId source, const Order& order, ValueId result);
Node ReshapeOf(const Graph& graph, ValueId source, ValueId result);

// A value of the same numbers as `like`, of another shape.
ValueId AddShaped(Graph* graph, ValueId like, Shape shape, int rank);

}  // namespace quadra

#endif  // QUADRA_PASSES_TRANSPOSES_H_
