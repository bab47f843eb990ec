#include "delegate_native/accelerator/buffers.h"

#include <cstdlib>
#include <cstring>

#include "delegate_native/accelerator/gpu_environment.h"
#include "delegate_native/base/log.h"
#include "delegate_native/tflite/abi.h"

namespace quadra {
namespace {

// In order of liking, from the first that fits on. From HostMemory on they are locked: the host
// sees them. An accelerator gets none that it does not name. On neither API it is the host's alone.
constexpr LiteRtTensorBufferType kTypes[] = {
    kLiteRtTensorBufferTypeOpenClBuffer, kLiteRtTensorBufferTypeHostMemory,
    kLiteRtTensorBufferTypeAhwb, kLiteRtTensorBufferTypeDmaBuf, kLiteRtTensorBufferTypeFastRpc};
constexpr LiteRtTensorBufferType kGlTypes[] = {kLiteRtTensorBufferTypeGlBuffer,
                                               kLiteRtTensorBufferTypeHostMemory};

constexpr int kDeadlineMs = 10000;  // as the delegate's

// A buffer of the inference that goes on.
struct Held {
  LiteRtTensorBuffer buffer;
  bool is_output;
  bool is_locked;
  Held* next;
};

// One model's, which one thread uses at a time.
struct Source {
  const LiteRtRuntimeContext* litert;
  LiteRtEnvironment environment;  // of an inference that may go on
  Held* held;
};

LiteRtExternalLiteRtBufferContext BuffersOf(TfLiteContext* context) {
  constexpr int kTfLiteLiteRtBufferContext = 4;
  return context->GetExternalContext
             ? static_cast<LiteRtExternalLiteRtBufferContext>(
                   context->GetExternalContext(context, kTfLiteLiteRtBufferContext))
             : nullptr;
}

void Offer(void* data, void* tflite, int tensor, size_t bytes, QuadraBufferKind kind) {
  const LiteRtRuntimeContext& litert = *static_cast<Source*>(data)->litert;
  TfLiteContext* context = static_cast<TfLiteContext*>(tflite);
  const LiteRtExternalLiteRtBufferContext buffers = BuffersOf(context);
  LiteRtTensorBufferRequirements requirements = nullptr;
  const LiteRtTensorBufferType* types = kind == QUADRA_BUFFER_OPENCL ? kTypes
                                        : kind == QUADRA_BUFFER_GL   ? kGlTypes
                                                                     : kTypes + 1;
  const int count = kind == QUADRA_BUFFER_OPENCL ? 5 : kind == QUADRA_BUFFER_GL ? 2 : 1;
  if (!buffers || litert.create_tensor_buffer_requirements(count, types, bytes, 0, nullptr,
                                                           &requirements) != kLiteRtStatusOk) {
    return;
  }
  litert.external_litert_buffer_context_register_buffer_requirements(
      buffers, &context->tensors[tensor], requirements);
}

// Others may still be writing it. The event of an OpenCL buffer, `opencl`, is left to the delegate,
// which has the device wait.
bool IsReady(const LiteRtRuntimeContext& litert, LiteRtTensorBuffer buffer, void** opencl) {
  bool has_event = false;
  LiteRtEvent event = nullptr;
  LiteRtEventType type;
  if (litert.has_tensor_buffer_event(buffer, &has_event) != kLiteRtStatusOk || !has_event) {
    return true;
  }
  if (litert.get_tensor_buffer_event(buffer, &event) != kLiteRtStatusOk ||
      litert.get_event_event_type(event, &type) != kLiteRtStatusOk) {
    return false;
  }
  if (type == kLiteRtEventTypeOpenCl && opencl) {
    return litert.get_event_opencl_event(event, opencl) == kLiteRtStatusOk;
  }
  if (litert.wait_event(event, kDeadlineMs) == kLiteRtStatusOk) return true;
  Log(0,
      "wait for an input of LiteRT's: its event (type %d) did not come within %d ms, or cannot "
      "be waited for; next: look at who is to complete it",
      type, kDeadlineMs);
  return false;
}

bool OpenGl(const LiteRtRuntimeContext& litert, LiteRtTensorBuffer buffer, QuadraBuffer* found) {
  uint32_t target = 0, name = 0;
  size_t offset = 0;
  found->kind = QUADRA_BUFFER_GL;
  if (!QUADRA_LITERT_HAS(&litert, get_tensor_buffer_gl_buffer) ||
      litert.get_tensor_buffer_gl_buffer(buffer, &target, &name, &found->bytes, &offset) !=
          kLiteRtStatusOk) {
    return false;
  }
  // The C API has one type for all handles. NOLINTNEXTLINE(performance-no-int-to-ptr)
  found->handle = reinterpret_cast<void*>(static_cast<uintptr_t>(name));
  if (offset == 0) return true;
  Log(0, "use a buffer of OpenGL ES: it begins %zu bytes inside its object; next: give whole ones",
      offset);
  return false;
}

bool Open(const LiteRtRuntimeContext& litert, Held* held, QuadraBuffer* found) {
  LiteRtTensorBufferType type;
  size_t offset = 0, packed = 0;
  if (litert.get_tensor_buffer_type(held->buffer, &type) != kLiteRtStatusOk ||
      litert.get_tensor_buffer_size(held->buffer, &found->bytes) != kLiteRtStatusOk ||
      litert.get_tensor_buffer_offset(held->buffer, &offset) != kLiteRtStatusOk ||
      !IsReady(litert, held->buffer,
               type == kLiteRtTensorBufferTypeOpenClBuffer ? &found->event : nullptr)) {
    return false;
  }
  if (type == kLiteRtTensorBufferTypeGlBuffer) return OpenGl(litert, held->buffer, found);
  if (type == kLiteRtTensorBufferTypeOpenClBuffer) {
    // What LiteRT noted may be from before a resize. The driver is asked, too.
    if (litert.get_tensor_buffer_packed_size(held->buffer, &packed) == kLiteRtStatusOk) {
      found->bytes = packed > found->bytes ? packed : found->bytes;
    }
    found->kind = QUADRA_BUFFER_OPENCL;
    return offset == 0 &&
           litert.get_tensor_buffer_opencl_memory(held->buffer, &found->handle) == kLiteRtStatusOk;
  }
  found->kind = QUADRA_BUFFER_HOST;
  held->is_locked = litert.lock_tensor_buffer(held->buffer, &found->handle,
                                              held->is_output ? kLiteRtTensorBufferLockModeWrite
                                                              : kLiteRtTensorBufferLockModeRead) ==
                    kLiteRtStatusOk;
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
  if (!held) return litert.destroy_tensor_buffer(buffer), -1;
  *held = {buffer, is_output != 0, false, source->held};
  source->held = held;
  return Open(litert, held, found) ? 1 : -1;
}

int GoesOn(void* data, void* tflite, const QuadraContexts* contexts) {
  Source* source = static_cast<Source*>(data);
  const LiteRtRuntimeContext& litert = *source->litert;
  const auto buffers = BuffersOf(static_cast<TfLiteContext*>(tflite));
  bool is_async = false;
  return buffers && contexts->opencl_context &&
         litert.external_litert_buffer_context_is_async_execution_mode(buffers, &is_async) ==
             kLiteRtStatusOk &&
         is_async &&
         litert.external_litert_buffer_context_get_environment(buffers, &source->environment) ==
             kLiteRtStatusOk &&
         KnowsOpenCl(litert, source->environment, *contexts);
}

// LiteRT's event has a reference of its own.
bool GiveEvent(const Source& source, LiteRtTensorBuffer output, void* opencl) {
  LiteRtEvent event = nullptr;
  return source.litert->create_event_from_opencl_event(source.environment, opencl, &event) ==
             kLiteRtStatusOk &&
         source.litert->set_tensor_buffer_event(output, event) == kLiteRtStatusOk;
}

int Finish(void* data, void* event) {
  Source* source = static_cast<Source*>(data);
  bool done = true;
  while (Held* held = source->held) {
    source->held = held->next;
    if (held->is_locked) source->litert->unlock_tensor_buffer(held->buffer);
    if (held->is_output && event) done &= GiveEvent(*source, held->buffer, event);
    source->litert->destroy_tensor_buffer(held->buffer);
    free(held);
  }
  return done;
}

void Release(void* data) {
  static_cast<void>(Finish(data, nullptr));
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
         QUADRA_LITERT_HAS(c, get_tensor_buffer_event) &&
         QUADRA_LITERT_HAS(c, get_event_event_type) &&
         QUADRA_LITERT_HAS(c, get_event_opencl_event) && QUADRA_LITERT_HAS(c, wait_event);
}

bool HasEvents(const LiteRtRuntimeContext* c) {
  return QUADRA_LITERT_HAS(c, external_litert_buffer_context_get_environment) &&
         QUADRA_LITERT_HAS(c, external_litert_buffer_context_is_async_execution_mode) &&
         QUADRA_LITERT_HAS(c, get_environment_options) &&
         QUADRA_LITERT_HAS(c, get_environment_options_value) &&
         QUADRA_LITERT_HAS(c, environment_has_gpu_environment) &&
         QUADRA_LITERT_HAS(c, gpu_environment_create) &&
         QUADRA_LITERT_HAS(c, create_event_from_opencl_event) &&
         QUADRA_LITERT_HAS(c, set_tensor_buffer_event);
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
  *source = {context, nullptr, nullptr};
  const QuadraBufferSource given = {
      source, Offer, Find, HasEvents(context) ? GoesOn : nullptr, Finish, Release, kDeadlineMs};
  QuadraDelegateSetBufferSource(delegate, &given);
}

LiteRtStatus ImportBuffer(void* opencl, void*, const void*, LiteRtTensorBufferType, void* handle,
                          size_t bytes, size_t, HwMemoryInfo** made) {
  QuadraGpuBuffer* buffer = QuadraGpuBufferCreate(opencl, handle, bytes, Say);
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

LiteRtStatus CreateBuffer(void* opencl, void* queue, const void* tensor_type,
                          LiteRtTensorBufferType type, size_t bytes, size_t packed_bytes,
                          HwMemoryInfo** made) {
  // After a resize the tensor is larger than the buffers that were asked for before.
  const size_t all = packed_bytes > bytes ? packed_bytes : bytes;
  return ImportBuffer(opencl, queue, tensor_type, type, nullptr, all, packed_bytes, made);
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
