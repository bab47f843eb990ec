// TFLite's lists of integers in memory of malloc, which the interpreter frees with free().
#ifndef QUADRA_TFLITE_INT_ARRAY_H_
#define QUADRA_TFLITE_INT_ARRAY_H_

#include <cstdlib>
#include <memory>
#include <vector>

#include "delegate_native/tflite/abi.h"

namespace quadra {

struct FreeIntArray {
  void operator()(TfLiteIntArray* array) const { free(array); }
};
using IntArray = std::unique_ptr<TfLiteIntArray, FreeIntArray>;

// Null: out of memory.
IntArray MakeIntArray(const std::vector<int>& numbers);

}  // namespace quadra

#endif  // QUADRA_TFLITE_INT_ARRAY_H_
