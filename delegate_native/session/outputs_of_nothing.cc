#include "delegate_native/session/outputs_of_nothing.h"

#include "delegate_native/ops/op.h"

namespace quadra {
namespace {

// `one` stands for a size of 0.
Status Extrapolate(const Graph& with_numbers, const std::vector<Shape>& input_shapes, int one,
                   std::vector<IoTensor>* outputs) {
  std::vector<Shape> for_one(outputs->size());
  for (int size : {one, 2 * one}) {
    Graph graph = with_numbers;
    for (size_t i = 0; i < input_shapes.size(); ++i) {
      Shape shape = input_shapes[i];
      for (int axis = kFirstAxis; axis <= 3; ++axis) {
        if (shape.axis(axis) == 0) shape.set_axis(axis, size);
      }
      graph.value(graph.inputs[i]).shape = shape;
    }
    QUADRA_RETURN_IF_ERROR(InferShapes(&graph));
    for (size_t i = 0; i < outputs->size(); ++i) {
      const Value& value = graph.value(graph.outputs[i]);
      (*outputs)[i].rank = value.rank;
      (*outputs)[i].shape = value.shape;
      if (size == one) for_one[i] = value.shape;
    }
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    Shape& shape = (*outputs)[i].shape;
    for (int axis = kFirstAxis; axis <= 3; ++axis) {
      const int n = 2 * for_one[i].axis(axis) - shape.axis(axis);
      if (n < 0) return Unsupported("its outputs have no sizes then");
      shape.set_axis(axis, n);
    }
    if (shape.elements() > 0) return Unsupported("an output would have numbers all the same");
  }
  return Status();
}

}  // namespace

// Ops know no empty shapes. Sizes are sums and products with constants of the inputs' sizes: what
// they are for a number and twice of it in a size's place tells what they are for 0: for 60, which
// strides and blocks divide, and where that makes too many, for 1.
Status OutputsOfNothing(const Graph& graph, const std::vector<Shape>& input_shapes,
                        std::vector<IoTensor>* outputs) {
  const Status status = Extrapolate(graph, input_shapes, 60, outputs);
  return status.ok() ? status : Extrapolate(graph, input_shapes, 1, outputs);
}

}  // namespace quadra
