// The number that PAD and its kin write around and between those of their input.
#ifndef QUADRA_OPS_PAD_H_
#define QUADRA_OPS_PAD_H_

#include "delegate_native/ops/op.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {

// The constant of an input, 0 where there is none: an attribute, `value` of floats and `int_value`
// of ints, by what is padded.
Status ReadPadValue(const Importer& importer, int input, ValueId padded, Attributes* attributes);
// The number `value` of the kernel's text.
void SetPadValue(const Graph& graph, const Node& node, KernelDesc* desc);

}  // namespace quadra

#endif  // QUADRA_OPS_PAD_H_
