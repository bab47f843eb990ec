// The node of a TFLite graph that is imported: what it reads and makes, and its parameters.
#ifndef QUADRA_TFLITE_NODE_READER_H_
#define QUADRA_TFLITE_NODE_READER_H_

#include <cstddef>
#include <cstdint>

#include "delegate_native/base/status.h"
#include "delegate_native/tflite/abi.h"
#include "delegate_native/tflite/builtin_params.h"

namespace quadra {

class NodeReader {
 public:
  explicit NodeReader(TfLiteContext* context) : context_(context) {}

  // Stands on a node; everything below is about it. Of a builtin op's parameters only the first
  // `params_bytes` may be read.
  void ReadNode(int index, const TfLiteNode* node, const TfLiteRegistration* registration,
                size_t params_bytes);

  TfLiteContext* context() const { return context_; }
  int index() const { return index_; }
  int builtin() const { return registration_->builtin_code; }
  int num_inputs() const { return node_->inputs->size; }
  int num_outputs() const { return node_->outputs->size; }
  bool HasInput(int i) const { return i < num_inputs() && node_->inputs->data[i] >= 0; }
  int InputIndex(int i) const { return node_->inputs->data[i]; }
  int OutputIndex(int i) const { return node_->outputs->data[i]; }
  const TfLiteTensor& InputTensor(int i) const { return context_->tensors[InputIndex(i)]; }
  const TfLiteTensor& OutputTensor(int i) const { return context_->tensors[OutputIndex(i)]; }
  // A tensor that only says how inner numbers are quantised; null if there is none.
  const TfLiteTensor* Intermediate(int i) const;
  // A builtin op's parameters, as the runtime read them.
  template <typename Params>
  Status GetParams(const Params** params) const {
    *params = static_cast<const Params*>(node_->builtin_data);
    return CheckOptions(sizeof(Params));
  }
  // A custom op's parameters: bytes of the model, at any address.
  template <typename Options>
  Status CopyCustomOptions(Options* options) const {
    return CopyCustomOptions(sizeof(Options), options);
  }
  // The bytes themselves; returns how many.
  size_t CustomOptions(const uint8_t** bytes) const {
    *bytes = static_cast<const uint8_t*>(node_->custom_initial_data);
    const int size = node_->custom_initial_data_size;
    return *bytes && size > 0 ? static_cast<size_t>(size) : 0;
  }
  // Fails unless the node has between these numbers of inputs (absent optional ones at the end
  // count as not there) and so many outputs.
  Status ExpectInputs(int least, int most, int outputs = 1) const;

 private:
  Status CheckOptions(size_t size) const;
  Status CopyCustomOptions(size_t size, void* options) const;

  TfLiteContext* context_;
  int index_ = -1;
  const TfLiteNode* node_ = nullptr;
  const TfLiteRegistration* registration_ = nullptr;
  size_t params_bytes_ = 0;
};

}  // namespace quadra

#endif  // QUADRA_TFLITE_NODE_READER_H_
