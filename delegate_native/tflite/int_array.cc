#include "delegate_native/tflite/int_array.h"

#include <algorithm>

namespace quadra {

IntArray MakeIntArray(const std::vector<int>& numbers) {
  IntArray array(
      static_cast<TfLiteIntArray*>(malloc(sizeof(TfLiteIntArray) + sizeof(int) * numbers.size())));
  if (!array) return array;
  array->size = static_cast<int>(numbers.size());
  std::copy(numbers.begin(), numbers.end(), array->data);
  return array;
}

}  // namespace quadra
