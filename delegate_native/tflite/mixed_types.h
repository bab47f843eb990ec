// Tensors of several types that stand for floats, beside each other in a node.
#ifndef QUADRA_TFLITE_MIXED_TYPES_H_
#define QUADRA_TFLITE_MIXED_TYPES_H_

#include "delegate_native/base/status.h"

namespace quadra {

class Importer;

// Fails where the node's computed inputs and its result are float32, float16 and integers with a
// scale in a mixture that TFLite's kernels do not take: they convert nothing, and where they do not
// refuse it they read the bits of one type as another. Constants are not looked at.
Status CheckMixedTypes(const Importer& importer);

}  // namespace quadra

#endif  // QUADRA_TFLITE_MIXED_TYPES_H_
