// Tensors as .npy files (version 1, little-endian, last axis fastest), and as rows of tensors.json.
#ifndef QUADRA_RUNNER_ARRAYS_H_
#define QUADRA_RUNNER_ARRAYS_H_

#include <string>
#include <vector>

#include "delegate_native/runner/libraries.h"
#include "delegate_native/runner/outcome.h"

namespace quadra {

struct Tensor {
  std::string name;
  TfLiteType type;
  std::vector<int> shape;
  TfLiteQuantizationParams quantization;
  size_t bytes;
};

const char* TypeName(TfLiteType type);  // numpy's word; null where there is none
Tensor Describe(const TfLiteApi& tflite, const TfLiteTensor* tensor);
std::string ArrayPath(const std::string& folder, size_t index);  // FOLDER/000.npy

// Values for `tensor`; an error where the file has others.
Outcome ReadArray(const std::string& path, const Tensor& tensor, std::string* values);
std::string NpyFile(const Tensor& tensor, const std::string& values);

}  // namespace quadra

#endif  // QUADRA_RUNNER_ARRAYS_H_
