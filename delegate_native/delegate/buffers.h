// Memory for a model's inputs and outputs that callers have, in the place of the interpreter's.
#ifndef QUADRA_DELEGATE_BUFFERS_H_
#define QUADRA_DELEGATE_BUFFERS_H_

#include <map>
#include <utility>

#include "delegate_native/delegate/quadra.h"
#include "delegate_native/runtime/backend.h"
#include "delegate_native/tflite/abi.h"

namespace quadra {

inline QuadraContexts ForC(const Contexts& c) {
  return {c.cl_platform, c.cl_device, c.cl_context, c.egl_display, c.egl_context};
}
inline Contexts FromC(const QuadraContexts& c) {
  return {c.opencl_platform, c.opencl_device, c.opencl_context, c.egl_display, c.egl_context};
}

// Shared by a delegate and its partitions, which may outlive it.
struct Buffers {
  Buffers() = default;
  ~Buffers() {
    if (source.release) source.release(source.data);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // 0: the tensor is in the interpreter's memory; below: its buffer cannot be had.
  int Find(TfLiteContext* context, int subgraph, int tensor, bool is_output,
           QuadraBuffer* found) const {
    const auto known = bound.find({subgraph, tensor});
    if (known != bound.end()) {
      *found = known->second;
      return 1;
    }
    return source.find ? source.find(source.data, context, tensor, is_output, found) : 0;
  }
  // Whether an inference on all of them may go on when the interpreter returns.
  void GoOn(TfLiteContext* context, const QuadraContexts& contexts, Events* events) const {
    const int kind = source.goes_on ? source.goes_on(source.data, context, &contexts) : 0;
    events->goes_on = kind != 0;
    events->gives_fence = kind == QUADRA_EVENT_FENCE_FD;
  }
  // False: nobody waits for the event.
  bool Finish(void* event) const {
    return !source.finish || source.finish(source.data, event) || !event;
  }

  QuadraBufferSource source{};
  std::map<std::pair<int, int>, QuadraBuffer> bound;  // by subgraph and tensor
};

}  // namespace quadra

#endif  // QUADRA_DELEGATE_BUFFERS_H_
