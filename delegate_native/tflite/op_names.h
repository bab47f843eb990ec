#ifndef QUADRA_TFLITE_OP_NAMES_H_
#define QUADRA_TFLITE_OP_NAMES_H_

#include <string>

namespace quadra {

// "CONV_2D"; a custom op's own name; "OP_300" for a code newer than this library.
std::string OpName(int builtin, const char* custom_name);

}  // namespace quadra

#endif  // QUADRA_TFLITE_OP_NAMES_H_
