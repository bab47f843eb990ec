#ifndef QUADRA_TFLITE_OP_NAMES_H_
#define QUADRA_TFLITE_OP_NAMES_H_

#include <string>

namespace quadra {

// "CONV_2D"; a custom op's own name; "OP_300" for a code newer than this library.
std::string OpName(int builtin, const char* custom_name);

// The input of a node whose numbers, not its shape, give the results their sizes: unless it is
// constant, those are known only while the model runs. None: sizes follow from the inputs' shapes.
// All: from more than one input's numbers, so that they are never known before.
constexpr int kNoSizeInput = -1, kAllSizeInputs = -2;
// That input, for builtin ops of TFLite that Quadra has not (those it has say it in their files).
int SizeInputOfForeign(int builtin);

}  // namespace quadra

#endif  // QUADRA_TFLITE_OP_NAMES_H_
