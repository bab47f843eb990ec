#include "delegate_native/tflite/node_reader.h"

#include <cstring>

namespace quadra {

void NodeReader::ReadNode(int index, const TfLiteNode* node, const TfLiteRegistration* registration,
                          size_t params_bytes) {
  params_bytes_ = params_bytes;
  index_ = index;
  node_ = node;
  registration_ = registration;
}

Status NodeReader::ExpectInputs(int least, int most, int outputs) const {
  int count = num_inputs();
  while (count > 0 && !HasInput(count - 1)) --count;
  if (count < least || count > most) {
    return Unsupported("it has %d inputs; %d to %d are supported", count, least, most);
  }
  for (int i = 0; i < count; ++i) {
    if (i < least && !HasInput(i)) return InvalidModel("its input %d is absent", i);
  }
  if (num_outputs() != outputs) {
    return Unsupported("it has %d outputs; %d %s supported", num_outputs(), outputs,
                       outputs == 1 ? "is" : "are");
  }
  return Status();
}

Status NodeReader::CheckOptions(size_t size) const {
  // Undeclared bytes are no part of a cache's key.
  if (size > params_bytes_) return Internal("its op declares too few bytes of parameters");
  return node_->builtin_data ? Status() : InvalidModel("it carries no options");
}

Status NodeReader::CopyCustomOptions(size_t size, void* options) const {
  const int given = node_->custom_initial_data ? node_->custom_initial_data_size : 0;
  if (given < 0 || static_cast<size_t>(given) < size) {
    return InvalidModel("its custom options have %d bytes; %zu are needed", given, size);
  }
  memcpy(options, node_->custom_initial_data, size);
  return Status();
}

const TfLiteTensor* NodeReader::Intermediate(int i) const {
  const TfLiteIntArray* all = node_->intermediates;
  if (!all || i >= all->size || all->data[i] < 0) return nullptr;
  return &context_->tensors[all->data[i]];
}

}  // namespace quadra
