// Axes of TFLite's nodes as the graph counts them, and the shapes that follow from them.
#ifndef QUADRA_OPS_AXES_H_
#define QUADRA_OPS_AXES_H_

#include <cstdint>
#include <vector>

#include "delegate_native/ops/op.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {

// The axis `given`, of `rank` axes counted from the front or, where negative, from the back.
Status ToAxis(int given, int rank, int* axis);
// The constant axis that an input is, of `rank` axes.
Status ReadAxis(const Importer& importer, int input, int rank, int* axis);
// The constant axes of an input, of input 0's rank: sorted, each once.
Status ReadAxes(const Importer& importer, int input, std::vector<int>* axes);

// No sum of a few such numbers overflows.
constexpr int64_t kMostAxisNumber = 1 << 28;
// Sets an attribute to the first `count` numbers of a list, each at least `least` and no more than
// kMostAxisNumber.
Status SetAxisNumbers(const char* name, const int64_t* list, int count, int64_t least,
                      Attributes* attributes);

// An attribute that must be one number.
Status ReadInt(const Node& node, const char* name, int* number);
// Refuses a result of more axes than a shape has.
Status CheckRank(size_t rank);
// Gives the value these dimensions, if they are not too many.
Status SetDims(const std::vector<int>& dims, Value* value);

// The output has the shape and rank of input 0.
Status SameShape(Graph* graph, const Node& node);
// Shape and rank without the axes, or with 1 along them.
void DropAxes(const Value& in, const std::vector<int>& axes, bool keep, Value* out);

}  // namespace quadra

#endif  // QUADRA_OPS_AXES_H_
