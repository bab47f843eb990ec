// Memory for a model's inputs and outputs that callers have, in the place of the interpreter's.
#ifndef QUADRA_DELEGATE_BUFFERS_H_
#define QUADRA_DELEGATE_BUFFERS_H_

#include <map>

#include "delegate_native/delegate/quadra.h"
#include "delegate_native/tflite/abi.h"

namespace quadra {

// Shared by a delegate and its partitions, which may outlive it.
struct Buffers {
  Buffers() = default;
  ~Buffers() {
    if (source.release) source.release(source.data);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // False: the tensor is in the interpreter's memory.
  bool Find(TfLiteContext* context, int tensor, bool is_output, QuadraBuffer* found) const {
    const auto known = bound.find(tensor);
    if (known != bound.end()) {
      *found = known->second;
      return true;
    }
    return source.find && source.find(source.data, context, tensor, is_output, found);
  }
  void Finish() const {
    if (source.finish) source.finish(source.data);
  }

  QuadraBufferSource source{};
  std::map<int, QuadraBuffer> bound;  // by tensor
};

}  // namespace quadra

#endif  // QUADRA_DELEGATE_BUFFERS_H_
