// Facts about one tensor of the interpreter: its type, its name, whether it is a constant.
#ifndef QUADRA_TFLITE_TENSOR_INFO_H_
#define QUADRA_TFLITE_TENSOR_INFO_H_

#include <cstdint>
#include <string>

#include "delegate_native/graph/graph.h"
#include "delegate_native/tflite/abi.h"

namespace quadra {

const char* TypeName(TfLiteType type);
// False where Quadra has no such element.
bool ElementOf(TfLiteType type, Element* element);
// The same of a tensor that is computed: no constant and no state is complex.
bool ComputedElementOf(TfLiteType type, Element* element);
// "float32, int32 or bool"
std::string NamesOf(Elements elements);

// For a sentence.
const char* NameOf(const TfLiteTensor& tensor);
// Whether its numbers are in the model, and known.
bool IsConstantTensor(const TfLiteTensor& tensor);
// -1 where a dimension is negative, or all together are more than any file holds.
int64_t ElementCount(const TfLiteIntArray* dims);

}  // namespace quadra

#endif  // QUADRA_TFLITE_TENSOR_INFO_H_
