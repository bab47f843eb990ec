// Weights and tables of int8, uint8, int4 and int2 that stay integers in the GPU's memory: a
// product of few rows reads each weight once or twice, so that its time is the memory's.
#ifndef QUADRA_OPS_INTEGER_WEIGHTS_H_
#define QUADRA_OPS_INTEGER_WEIGHTS_H_

#include "delegate_native/ops/op.h"

namespace quadra {

// Appends the kernel of a convolution of single pixels whose weights stay integers. False: there
// are too many pixels, or the weights are not of that kind, or not of a size for it.
bool AddIntegerProduct(const KernelContext& context, const Graph& graph, const Node& node,
                       KernelList* list);

// Whether a table of rows, seen as [1, 1, rows, columns], stays integers where rows of it are read.
bool KeepsIntegers(const ConstantData& table, const Shape& rows);
// Gives a kernel such a table.
void AddIntegerTable(const ConstantData& table, const Shape& rows, KernelDesc* kernel);

}  // namespace quadra

#endif  // QUADRA_OPS_INTEGER_WEIGHTS_H_
