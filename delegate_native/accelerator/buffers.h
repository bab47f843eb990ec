// LiteRT's buffers as memory for inputs and outputs of a delegate.
#ifndef QUADRA_ACCELERATOR_BUFFERS_H_
#define QUADRA_ACCELERATOR_BUFFERS_H_

#include "delegate_native/accelerator/litert_abi.h"

namespace quadra {

// LiteRT learns which tensors may be in buffers of the GPU, and the delegate finds there what a run
// brings. The table must stay as long as the process. A runtime without what that needs is left
// alone: its buffers are the interpreter's memory.
void UseBuffersOf(const LiteRtRuntimeContext* context, TfLiteDelegate* delegate);

// Makes OpenCL buffers in the environment's OpenCL context, or else in that of Quadra's models.
LiteRtStatus CreateBuffer(void* opencl, void*, const void*, LiteRtTensorBufferType, size_t bytes,
                          size_t, HwMemoryInfo** made);
LiteRtStatus ImportBuffer(void* opencl, void*, const void*, LiteRtTensorBufferType, void* handle,
                          size_t bytes, size_t, HwMemoryInfo** made);
LiteRtStatus DestroyBuffer(HwMemoryInfo* info);
LiteRtStatus LockBuffer(HwMemoryInfo* info, LiteRtTensorBufferLockMode mode, void** host);
LiteRtStatus UnlockBuffer(HwMemoryInfo* info);
LiteRtStatus ClearBuffer(HwMemoryInfo* info);

}  // namespace quadra

#endif  // QUADRA_ACCELERATOR_BUFFERS_H_
