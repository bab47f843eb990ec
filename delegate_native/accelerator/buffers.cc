#include "delegate_native/accelerator/buffers.h"

#include <cstdlib>
#include <cstring>

#include "delegate_native/base/log.h"
#include "delegate_native/tflite/abi.h"

namespace quadra {
namespace {

// In order of liking. All but the first are locked: the host sees them. An accelerator gets none
// that it does not name. Without OpenCL it is the host's memory alone.
constexpr LiteRtTensorBufferType kTypes[] = {
    kLiteRtTensorBufferTypeOpenClBuffer, kLiteRtTensorBufferTypeHostMemory,
    kLiteRtTensorBufferTypeAhwb, kLiteRtTensorBufferTypeDmaBuf, kLiteRtTensorBufferTypeFastRpc};

// A buffer of the inference that goes on.
struct Held {
  LiteRtTensorBuffer buffer;
  bool is_locked;
  Held* next;
};

// One model's, which one thread uses at a time.
struct Source {
  const LiteRtRuntimeContext* litert;
  Held* held;
};

LiteRtExternalLiteRtBufferContext BuffersOf(TfLiteContext* context) {
  constexpr int kTfLiteLiteRtBufferContext = 4;
  return context->GetExternalContext
             ? static_cast<LiteRtExternalLiteRtBufferContext>(
                   context->GetExternalContext(context, kTfLiteLiteRtBufferContext))
             : nullptr;
}

void Offer(void* data, void* tflite, int tensor, size_t bytes, int takes_opencl) {
  const LiteRtRuntimeContext& litert = *static_cast<Source*>(data)->litert;
  TfLiteContext* context = static_cast<TfLiteContext*>(tflite);
  const LiteRtExternalLiteRtBufferContext buffers = BuffersOf(context);
  LiteRtTensorBufferRequirements requirements = nullptr;
  const int count = takes_opencl ? sizeof(kTypes) / sizeof(*kTypes) : 1;
  const LiteRtTensorBufferType* types = takes_opencl ? kTypes : kTypes + 1;
  if (!buffers || litert.create_tensor_buffer_requirements(count, types, bytes, 0, nullptr,
                                                           &requirements) != kLiteRtStatusOk) {
    return;
  }
  litert.external_litert_buffer_context_register_buffer_requirements(
      buffers, &context->tensors[tensor], requirements);
}

// Others may still be writing it.
bool IsReady(const LiteRtRuntimeContext& litert, LiteRtTensorBuffer buffer) {
  bool has_event = false;
  LiteRtEvent event = nullptr;
  if (litert.has_tensor_buffer_event(buffer, &has_event) != kLiteRtStatusOk || !has_event) {
    return true;
  }
  return litert.get_tensor_buffer_event(buffer, &event) == kLiteRtStatusOk &&
         litert.wait_event(event, -1) == kLiteRtStatusOk;
}

bool Open(const LiteRtRuntimeContext& litert, Held* held, bool is_output, QuadraBuffer* found) {
  LiteRtTensorBufferType type;
  size_t offset = 0, packed = 0;
  if (litert.get_tensor_buffer_type(held->buffer, &type) != kLiteRtStatusOk ||
      litert.get_tensor_buffer_size(held->buffer, &found->bytes) != kLiteRtStatusOk ||
      litert.get_tensor_buffer_offset(held->buffer, &offset) != kLiteRtStatusOk) {
    return false;
  }
  if (type == kLiteRtTensorBufferTypeOpenClBuffer) {
    // What LiteRT noted may be from before a resize. The driver is asked, too.
    if (litert.get_tensor_buffer_packed_size(held->buffer, &packed) == kLiteRtStatusOk) {
      found->bytes = packed > found->bytes ? packed : found->bytes;
    }
    found->kind = QUADRA_BUFFER_OPENCL;
    return offset == 0 && IsReady(litert, held->buffer) &&
           litert.get_tensor_buffer_opencl_memory(held->buffer, &found->handle) == kLiteRtStatusOk;
  }
  found->kind = QUADRA_BUFFER_HOST;
  held->is_locked =
      litert.lock_tensor_buffer(held->buffer, &found->handle,
                                is_output ? kLiteRtTensorBufferLockModeWrite
                                          : kLiteRtTensorBufferLockModeRead) == kLiteRtStatusOk;
  return held->is_locked;
}

int Find(void* data, void* tflite, int tensor, int is_output, QuadraBuffer* found) {
  Source* source = static_cast<Source*>(data);
  const LiteRtRuntimeContext& litert = *source->litert;
  TfLiteContext* context = static_cast<TfLiteContext*>(tflite);
  const LiteRtExternalLiteRtBufferContext buffers = BuffersOf(context);
  LiteRtTensorBuffer buffer = nullptr;
  if (!buffers || litert.get_external_litert_buffer_context_tensor_buffer(
                      buffers, &context->tensors[tensor], &buffer) != kLiteRtStatusOk) {
    return 0;
  }
  Held* held = static_cast<Held*>(malloc(sizeof(Held)));
  if (!held) return litert.destroy_tensor_buffer(buffer), 0;
  *held = {buffer, false, source->held};
  source->held = held;
  return Open(litert, held, is_output != 0, found);
}

void Finish(void* data) {
  Source* source = static_cast<Source*>(data);
  while (Held* held = source->held) {
    source->held = held->next;
    if (held->is_locked) source->litert->unlock_tensor_buffer(held->buffer);
    source->litert->destroy_tensor_buffer(held->buffer);
    free(held);
  }
}

void Release(void* data) {
  Finish(data);
  free(data);
}

bool HasAll(const LiteRtRuntimeContext* c) {
  return QUADRA_LITERT_HAS(c, create_tensor_buffer_requirements) &&
         QUADRA_LITERT_HAS(c, get_external_litert_buffer_context_tensor_buffer) &&
         QUADRA_LITERT_HAS(c, external_litert_buffer_context_register_buffer_requirements) &&
         QUADRA_LITERT_HAS(c, destroy_tensor_buffer) &&
         QUADRA_LITERT_HAS(c, get_tensor_buffer_type) &&
         QUADRA_LITERT_HAS(c, get_tensor_buffer_size) &&
         QUADRA_LITERT_HAS(c, get_tensor_buffer_packed_size) &&
         QUADRA_LITERT_HAS(c, get_tensor_buffer_offset) &&
         QUADRA_LITERT_HAS(c, lock_tensor_buffer) && QUADRA_LITERT_HAS(c, unlock_tensor_buffer) &&
         QUADRA_LITERT_HAS(c, get_tensor_buffer_opencl_memory) &&
         QUADRA_LITERT_HAS(c, has_tensor_buffer_event) &&
         QUADRA_LITERT_HAS(c, get_tensor_buffer_event) && QUADRA_LITERT_HAS(c, wait_event);
}

// ---- OpenCL buffers ----

struct Memory {
  HwMemoryInfo info;
  QuadraGpuBuffer* buffer;
  size_t bytes;
  bool is_written;  // while it is locked
};

Memory* MemoryOf(HwMemoryInfo* info) { return reinterpret_cast<Memory*>(info); }

void Say(const char* sentence) { Log(0, "no buffer for LiteRT: %s", sentence); }

}  // namespace

void UseBuffersOf(const LiteRtRuntimeContext* context, TfLiteDelegate* delegate) {
  Source* source = static_cast<Source*>(HasAll(context) ? malloc(sizeof(Source)) : nullptr);
  if (!source) return;
  *source = {context, nullptr};
  const QuadraBufferSource given = {source, Offer, Find, Finish, Release};
  QuadraDelegateSetBufferSource(delegate, &given);
}

LiteRtStatus ImportBuffer(void*, void*, const void*, LiteRtTensorBufferType, void* handle,
                          size_t bytes, size_t, HwMemoryInfo** made) {
  QuadraGpuBuffer* buffer = QuadraGpuBufferCreate(handle, bytes, Say);
  Memory* memory = static_cast<Memory*>(buffer ? malloc(sizeof(Memory)) : nullptr);
  if (!memory) {
    QuadraGpuBufferDelete(buffer);
    return kLiteRtStatusErrorRuntimeFailure;
  }
  void* object = QuadraGpuBufferHandle(buffer);
  *memory = {{object, object}, buffer, bytes, false};
  *made = &memory->info;
  return kLiteRtStatusOk;
}

LiteRtStatus CreateBuffer(void* device, void* queue, const void* tensor_type,
                          LiteRtTensorBufferType type, size_t bytes, size_t packed_bytes,
                          HwMemoryInfo** made) {
  // After a resize the tensor is larger than the buffers that were asked for before.
  const size_t all = packed_bytes > bytes ? packed_bytes : bytes;
  return ImportBuffer(device, queue, tensor_type, type, nullptr, all, packed_bytes, made);
}

LiteRtStatus DestroyBuffer(HwMemoryInfo* info) {
  QuadraGpuBufferDelete(MemoryOf(info)->buffer);
  free(info);
  return kLiteRtStatusOk;
}

LiteRtStatus LockBuffer(HwMemoryInfo* info, LiteRtTensorBufferLockMode mode, void** host) {
  Memory* memory = MemoryOf(info);
  memory->is_written = mode != kLiteRtTensorBufferLockModeRead;
  *host = QuadraGpuBufferLock(memory->buffer, mode != kLiteRtTensorBufferLockModeWrite);
  return *host ? kLiteRtStatusOk : kLiteRtStatusErrorRuntimeFailure;
}

LiteRtStatus UnlockBuffer(HwMemoryInfo* info) {
  Memory* memory = MemoryOf(info);
  const bool done = QuadraGpuBufferUnlock(memory->buffer, memory->is_written) != 0;
  return done ? kLiteRtStatusOk : kLiteRtStatusErrorRuntimeFailure;
}

LiteRtStatus ClearBuffer(HwMemoryInfo* info) {
  void* host = nullptr;
  const LiteRtStatus status = LockBuffer(info, kLiteRtTensorBufferLockModeWrite, &host);
  if (status != kLiteRtStatusOk) return status;
  memset(host, 0, MemoryOf(info)->bytes);
  return UnlockBuffer(info);
}

}  // namespace quadra
