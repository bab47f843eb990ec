// Weights and tables of int8, uint8, int4, int2 and float16 that stay as small in the GPU's memory:
// a product reads each weight once for several rows, so that its time is the memory's, and that is
// not taken by floats.
#ifndef QUADRA_OPS_STORED_WEIGHTS_H_
#define QUADRA_OPS_STORED_WEIGHTS_H_

#include "delegate_native/ops/op.h"

namespace quadra {

// Appends the kernel of a convolution of single pixels whose weights stay as they are stored.
// False: there are too many pixels for small weights, or the weights are not of that kind. float16
// stays where the plan stores floats: else all weights are halfs.
bool AddStoredProduct(const KernelContext& context, const Graph& graph, const Node& node,
                      KernelList* list);

// How a table of rows, seen as [1, 1, rows, columns], is kept where rows of it are read: one of
// integers or halfs as a product has it as its weights.
enum class Table { kFloats, kIntegers, kHalfs };
Table TableOf(const KernelContext& context, const ConstantData& table, const Shape& rows);
// Gives a kernel such a table, which is none of floats. The scales of one of integers are halfs
// where the model has them so.
void AddTable(const KernelContext& context, const ConstantData& table, const Shape& rows,
              KernelDesc* kernel);
bool HasHalfScales(const Constant& table);

// Makes of the words h, which have two scales of halfs each, the scales f of the part k. h and e
// are vectors of $lanes ints.
extern const char* const kHalfScale;

}  // namespace quadra

#endif  // QUADRA_OPS_STORED_WEIGHTS_H_
