#include "delegate_native/ops/axes.h"

#include <algorithm>

#include "delegate_native/base/lean/sorted.h"

namespace quadra {

Status ToAxis(int given, int rank, int* axis) {
  if (given < -rank || given >= rank) {
    return InvalidModel("axis %d is out of range for rank %d", given, rank);
  }
  *axis = (given < 0 ? given + rank : given) + 4 - rank;
  return Status();
}

Status ReadAxis(const Importer& importer, int input, int rank, int* axis) {
  QUADRA_RETURN_IF_ERROR(importer.ConstantInt(input, axis));
  return ToAxis(*axis, rank, axis);
}

Status ReadAxes(const Importer& importer, int input, std::vector<int>* axes) {
  QUADRA_RETURN_IF_ERROR(importer.ConstantInts(input, axes));
  for (int& axis : *axes) QUADRA_RETURN_IF_ERROR(ToAxis(axis, importer.InputRank(0), &axis));
  SortOnce(axes);
  return Status();
}

Status SetAxisNumbers(const char* name, const int64_t* list, int count, int64_t least,
                      Attributes* attributes) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) {
    if (list[i] < least || list[i] > kMostAxisNumber) {
      return InvalidModel("its %s of axis %d is %lld", name, i, static_cast<long long>(list[i]));
    }
    numbers.push_back(static_cast<int>(list[i]));
  }
  attributes->SetInts(name, numbers);
  return Status();
}

Status ReadInt(const Node& node, const char* name, int* number) {
  const std::vector<int>& ints = node.attributes.Ints(name);
  if (ints.size() != 1) return InvalidModel("its %s is %zu numbers", name, ints.size());
  *number = ints[0];
  return Status();
}

Status CheckRank(size_t rank) {
  if (rank <= kMostRank) return Status();
  return Unsupported("its result has rank %zu; ranks up to %d are supported", rank, kMostRank);
}

Status SetDims(const std::vector<int>& dims, Value* value) {
  QUADRA_RETURN_IF_ERROR(CheckRank(dims.size()));
  value->rank = static_cast<int>(dims.size());
  value->shape = ShapeOf(dims.data(), value->rank);
  return Status();
}

Status SameShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  out.shape = in.shape;
  out.rank = in.rank;
  return Status();
}

void DropAxes(const Value& in, const std::vector<int>& axes, bool keep, Value* out) {
  const auto drops = [&](int axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  Shape shape;
  int rank = 0;
  for (int axis = 3; axis >= 4 - in.rank; --axis) {
    if (!drops(axis)) {
      shape.set_axis(3 - rank++, in.shape.axis(axis));
    } else if (keep) {
      ++rank;
    }
  }
  out->shape = shape;
  out->rank = rank;
}

}  // namespace quadra
