// Nodes whose weights or bias are computed while the model runs.
#ifndef QUADRA_OPS_COMPUTED_WEIGHTS_H_
#define QUADRA_OPS_COMPUTED_WEIGHTS_H_

#include "delegate_native/ops/op.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {

// Whether the node's input 1, weights, or its bias is no constant.
bool HasComputedWeights(const Importer& importer, int bias = 2);
// Adds the product of `src` and the weights by the op, then the bias if there is one.
Status AddComputed(Importer* importer, const char* op, ValueId src, Attributes attributes,
                   TfLiteFusedActivation activation, int bias = 2);

}  // namespace quadra

#endif  // QUADRA_OPS_COMPUTED_WEIGHTS_H_
