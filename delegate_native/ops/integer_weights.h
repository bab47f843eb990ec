// Weights and tables of int8, uint8, int4 and int2 that stay integers in the GPU's memory: a
// product reads each weight once for several rows, so that its time is the memory's, and that is
// not taken by floats.
#ifndef QUADRA_OPS_INTEGER_WEIGHTS_H_
#define QUADRA_OPS_INTEGER_WEIGHTS_H_

#include "delegate_native/ops/op.h"

namespace quadra {

// Appends the kernel of a convolution of single pixels whose weights stay integers. False: there
// are too many pixels for small weights, or the weights are not of that kind.
bool AddIntegerProduct(const KernelContext& context, const Graph& graph, const Node& node,
                       KernelList* list);

// Whether a table of rows, seen as [1, 1, rows, columns], stays integers where rows of it are read.
bool KeepsIntegers(const ConstantData& table, const Shape& rows);
// Gives a kernel such a table, as a product has it as its weights.
void AddIntegerTable(const GpuInfo& gpu, const ConstantData& table, const Shape& rows,
                     KernelDesc* kernel);

}  // namespace quadra

#endif  // QUADRA_OPS_INTEGER_WEIGHTS_H_
