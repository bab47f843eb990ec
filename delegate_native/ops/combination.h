// Computations that a node names as subgraphs: how two numbers become one.
#ifndef QUADRA_OPS_COMBINATION_H_
#define QUADRA_OPS_COMBINATION_H_

#include "delegate_native/base/status.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {

enum class Combination : int8_t { kSecond, kAdd, kMultiply, kMaximum, kMinimum };

// Reads subgraph `index`: it returns its second input, or has one node. Others are
// refused.
Status ReadCombination(const Importer& importer, int index, Combination* combination);

}  // namespace quadra

#endif  // QUADRA_OPS_COMBINATION_H_
