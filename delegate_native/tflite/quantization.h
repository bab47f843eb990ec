// Tensors of integers that stand for floats.
#ifndef QUADRA_TFLITE_QUANTIZATION_H_
#define QUADRA_TFLITE_QUANTIZATION_H_

#include "delegate_native/base/status.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/tflite/abi.h"

namespace quadra {

// The scales of a quantised tensor; null if there are none that say something.
const TfLiteAffineQuantization* ScalesOf(const TfLiteTensor& tensor);
// Whether its integers, of 8 or 16 bits, stand for floats.
bool IsQuantized(const TfLiteTensor& tensor);
// That a tensor with scales is one that Quadra can see as floats. `what` names it in a sentence;
// `is_allowed`: by the options.
Status CheckQuantized(const TfLiteTensor& tensor, const char* what, bool is_allowed);
// The floats that a quantised tensor can hold, as the ops name them.
Attributes GridOf(const TfLiteTensor& tensor);
// The element of a tensor of integers that stand for floats.
Element StoredElement(const TfLiteTensor& tensor);
// The scale with two bits less than a float has: kernels count on it (`requantize`). Constants have
// it, too: what is equal as integers is equal as floats.
float ShortScale(float scale);

}  // namespace quadra

#endif  // QUADRA_TFLITE_QUANTIZATION_H_
