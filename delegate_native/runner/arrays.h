// Tensors as .npy files (version 1, little-endian, last axis fastest), and as rows of tensors.json.
#ifndef QUADRA_RUNNER_ARRAYS_H_
#define QUADRA_RUNNER_ARRAYS_H_

#include <string>
#include <vector>

#include "delegate_native/runner/libraries.h"
#include "delegate_native/runner/outcome.h"

namespace quadra {

struct Tensor {
  std::string name;  // a signature's, or its own
  std::string own_name;
  TfLiteType type;
  std::vector<int> shape;
  TfLiteQuantizationParams quantization;
  size_t bytes;
};

struct Array {
  std::string path;
  std::string header;  // as numpy writes it
  std::vector<int> shape;
  std::string values;
};

const char* TypeName(TfLiteType type);  // numpy's word; null where there is none
Tensor Describe(const TfLiteApi& tflite, const TfLiteTensor* tensor, const std::string& name);
std::string ArrayPath(const std::string& folder, size_t index);  // FOLDER/000.npy

// Each file's array.
Outcome ReadArrays(const std::vector<std::string>& paths, std::vector<Array>* arrays);
// FOLDER/000.npy, FOLDER/001.npy, … as many as there are.
Outcome ReadArrays(const std::string& folder, std::vector<Array>* arrays);
// Fills `array`, which has its path, from a file's bytes.
Outcome ParseArray(const std::string& file, Array* array);
// An error where the array has not the type of `tensor`, or not its size either.
Outcome RequireType(const Array& array, const Tensor& tensor);
Outcome RequireFits(const Array& array, const Tensor& tensor);
std::string NpyFile(const Tensor& tensor, const std::string& values);

}  // namespace quadra

#endif  // QUADRA_RUNNER_ARRAYS_H_
