#include "delegate_native/passes/transposes.h"

#include <utility>

namespace quadra {

bool IsTranspose(const Node& node) { return node.op == "transpose" && node.fused.empty(); }

const Order& OrderOf(const Node& node) { return node.attributes.Ints("order"); }

Order Composed(const Order& first, const Order& second) {
  Order order;
  for (int axis : second) order.push_back(first[static_cast<size_t>(axis)]);
  return order;
}

Order Inverted(const Order& order) {
  Order inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    inverse[static_cast<size_t>(order[i])] = static_cast<int>(i);
  }
  return inverse;
}

bool IsIdentity(const Order& order) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int>(i)) return false;
  }
  return true;
}

Order ChannelsToLast(int rank) {
  Order order = {0};
  for (int axis = 2; axis < rank; ++axis) order.push_back(axis);
  order.push_back(1);
  return order;
}

int SizeOf(const Value& value, int i) { return value.shape.axis(4 - value.rank + i); }

Shape Transposed(const Value& value, const Order& order) {
  Shape shape;
  for (size_t i = 0; i < order.size(); ++i) {
    shape.set_axis(4 - value.rank + static_cast<int>(i), SizeOf(value, order[i]));
  }
  return shape;
}

bool MovesOnlyOnes(const Value& source, const Order& order) {
  int last = -1;
  for (int axis : order) {
    if (SizeOf(source, axis) == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

Node TransposeOf(ValueId source, const Order& order, ValueId result) {
  Node node;
  node.op = "transpose";
  node.inputs = {source};
  node.outputs = {result};
  node.attributes.SetInts("order", order);
  return node;
}

Node ReshapeOf(const Graph& graph, ValueId source, ValueId result) {
  Node node;
  node.op = "reshape";
  node.inputs = {source};
  node.outputs = {result};
  const Value& value = graph.value(result);
  std::vector<int> sizes(static_cast<size_t>(value.rank));
  for (int i = 0; i < value.rank; ++i) sizes[static_cast<size_t>(i)] = SizeOf(value, i);
  node.attributes.SetInts("shape", std::move(sizes));
  return node;
}

ValueId AddShaped(Graph* graph, ValueId like, Shape shape, int rank) {
  Value value;
  value.name = graph->value(like).name;
  value.element = graph->value(like).element;
  value.shape = shape;
  value.rank = rank;
  return graph->AddValue(std::move(value));
}

}  // namespace quadra
