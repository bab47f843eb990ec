#include "delegate_native/accelerator/buffers.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "delegate_native/accelerator/gpu_environment.h"
#include "delegate_native/base/log.h"
#include "delegate_native/tflite/abi.h"

namespace quadra {
namespace {

// Types next to OpenCL's buffers and the host's memory. A buffer that the driver cannot import is
// locked: the host sees it. An accelerator gets none that it does not name.
struct SystemType {
  LiteRtTensorBufferType type;
  QuadraBufferKind kind;
};
constexpr SystemType kSystemTypes[] = {{kLiteRtTensorBufferTypeAhwb, QUADRA_BUFFER_AHARDWAREBUFFER},
                                       {kLiteRtTensorBufferTypeDmaBuf, QUADRA_BUFFER_DMA_BUF}};

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
  TfLiteDelegate* delegate;
  LiteRtEnvironment environment;  // of an inference that may go on
  bool gives_fences;              // of the end of such
  Held* held;
};

LiteRtExternalLiteRtBufferContext BuffersOf(TfLiteContext* context) {
  constexpr int kTfLiteLiteRtBufferContext = 4;
  return context->GetExternalContext
             ? static_cast<LiteRtExternalLiteRtBufferContext>(
                   context->GetExternalContext(context, kTfLiteLiteRtBufferContext))
             : nullptr;
}

// The C API has one type for all handles.
void* HandleOf(intptr_t number) {
  return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr)
}

bool Takes(const Source& source, int tensor, const QuadraBuffer& buffer) {
  return QuadraDelegateTakesBuffer(source.delegate, tensor, &buffer, nullptr) != 0;
}

// In order of liking. Returns how many.
int TypesFor(const Source& source, int tensor, size_t bytes, QuadraBufferKind kind,
             LiteRtTensorBufferType* types) {
  int count = 0;
  if (kind == QUADRA_BUFFER_GL) types[count++] = kLiteRtTensorBufferTypeGlBuffer;
  if (kind == QUADRA_BUFFER_OPENCL) types[count++] = kLiteRtTensorBufferTypeOpenClBuffer;
  const auto add = [&](bool imported) {
    for (const SystemType& one : kSystemTypes) {
      if (Takes(source, tensor, {one.kind, nullptr, bytes, nullptr, 0}) == imported) {
        types[count++] = one.type;
      }
    }
  };
  if (kind == QUADRA_BUFFER_OPENCL) add(true);
  types[count++] = kLiteRtTensorBufferTypeHostMemory;
  if (kind != QUADRA_BUFFER_OPENCL) return count;
  add(false);
  types[count++] = kLiteRtTensorBufferTypeFastRpc;
  return count;
}

void Offer(void* data, void* tflite, int tensor, size_t bytes, QuadraBufferKind kind) {
  const Source& source = *static_cast<Source*>(data);
  const LiteRtRuntimeContext& litert = *source.litert;
  TfLiteContext* context = static_cast<TfLiteContext*>(tflite);
  const LiteRtExternalLiteRtBufferContext buffers = BuffersOf(context);
  LiteRtTensorBufferRequirements requirements = nullptr;
  LiteRtTensorBufferType types[5];
  const int count = TypesFor(source, tensor, bytes, kind, types);
  if (!buffers || litert.create_tensor_buffer_requirements(count, types, bytes, 0, nullptr,
                                                           &requirements) != kLiteRtStatusOk) {
    return;
  }
  litert.external_litert_buffer_context_register_buffer_requirements(
      buffers, &context->tensors[tensor], requirements);
}

// Others may still be writing it. The event of a buffer of the GPU, `found`, is left to the
// delegate where it is one of OpenCL's or a sync fence: the device waits.
bool IsReady(const LiteRtRuntimeContext& litert, LiteRtTensorBuffer buffer, QuadraBuffer* found) {
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
  if (type == kLiteRtEventTypeOpenCl && found && found->kind != QUADRA_BUFFER_GL) {
    return litert.get_event_opencl_event(event, &found->event) == kLiteRtStatusOk;
  }
  int fd = 0;
  if (type == kLiteRtEventTypeSyncFenceFd && found &&
      QUADRA_LITERT_HAS(&litert, get_event_sync_fence_fd) &&
      litert.get_event_sync_fence_fd(event, &fd) == kLiteRtStatusOk && fd > 0) {
    found->event = HandleOf(fd);
    found->event_kind = QUADRA_EVENT_FENCE_FD;
    return true;
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
  if (!QUADRA_LITERT_HAS(&litert, get_tensor_buffer_gl_buffer) ||
      litert.get_tensor_buffer_gl_buffer(buffer, &target, &name, &found->bytes, &offset) !=
          kLiteRtStatusOk) {
    return false;
  }
  found->handle = HandleOf(static_cast<intptr_t>(name));
  if (offset == 0) return true;
  Log(0, "use a buffer of OpenGL ES: it begins %zu bytes inside its object; next: give whole ones",
      offset);
  return false;
}

// Whether it is memory of the system that the driver imports.
bool IsImported(const Source& source, LiteRtTensorBuffer buffer, LiteRtTensorBufferType type,
                int tensor, QuadraBuffer* found) {
  const LiteRtRuntimeContext& litert = *source.litert;
  LiteRtStatus status = kLiteRtStatusErrorInvalidArgument;
  if (type == kLiteRtTensorBufferTypeAhwb && QUADRA_LITERT_HAS(&litert, get_tensor_buffer_ahwb)) {
    found->kind = QUADRA_BUFFER_AHARDWAREBUFFER;
    status = litert.get_tensor_buffer_ahwb(buffer, &found->handle);
  } else if (type == kLiteRtTensorBufferTypeDmaBuf &&
             QUADRA_LITERT_HAS(&litert, get_tensor_buffer_dma_buf_buffer)) {
    int fd = 0;
    void* host = nullptr;
    found->kind = QUADRA_BUFFER_DMA_BUF;
    status = litert.get_tensor_buffer_dma_buf_buffer(buffer, &host, &fd);
    found->handle = HandleOf(fd);
  }
  return status == kLiteRtStatusOk && found->handle && Takes(source, tensor, *found);
}

bool Open(const Source& source, Held* held, int tensor, QuadraBuffer* found) {
  const LiteRtRuntimeContext& litert = *source.litert;
  LiteRtTensorBufferType type;
  size_t offset = 0, packed = 0;
  if (litert.get_tensor_buffer_type(held->buffer, &type) != kLiteRtStatusOk ||
      litert.get_tensor_buffer_size(held->buffer, &found->bytes) != kLiteRtStatusOk ||
      litert.get_tensor_buffer_offset(held->buffer, &offset) != kLiteRtStatusOk) {
    return false;
  }
  const bool is_imported = offset == 0 && IsImported(source, held->buffer, type, tensor, found);
  if (type == kLiteRtTensorBufferTypeOpenClBuffer) found->kind = QUADRA_BUFFER_OPENCL;
  if (type == kLiteRtTensorBufferTypeGlBuffer) found->kind = QUADRA_BUFFER_GL;
  const bool is_gpus = is_imported || type == kLiteRtTensorBufferTypeOpenClBuffer ||
                       type == kLiteRtTensorBufferTypeGlBuffer;
  if (!IsReady(litert, held->buffer, is_gpus ? found : nullptr)) return false;
  if (is_imported) return true;
  if (type == kLiteRtTensorBufferTypeGlBuffer) return OpenGl(litert, held->buffer, found);
  if (type == kLiteRtTensorBufferTypeOpenClBuffer) {
    // LiteRT's note may be from before a resize, so the driver is asked, too.
    if (litert.get_tensor_buffer_packed_size(held->buffer, &packed) == kLiteRtStatusOk) {
      found->bytes = packed > found->bytes ? packed : found->bytes;
    }
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
  return Open(*source, held, tensor, found) ? 1 : -1;
}

int GoesOn(void* data, void* tflite, const QuadraContexts* contexts) {
  Source* source = static_cast<Source*>(data);
  const LiteRtRuntimeContext& litert = *source->litert;
  const auto buffers = BuffersOf(static_cast<TfLiteContext*>(tflite));
  bool is_async = false;
  if (!buffers ||
      litert.external_litert_buffer_context_is_async_execution_mode(buffers, &is_async) !=
          kLiteRtStatusOk ||
      !is_async ||
      litert.external_litert_buffer_context_get_environment(buffers, &source->environment) !=
          kLiteRtStatusOk) {
    return 0;
  }
  source->gives_fences = !contexts->opencl_context;
  if (source->gives_fences) return QUADRA_EVENT_FENCE_FD;
  return KnowsOpenCl(litert, source->environment, *contexts) ? QUADRA_EVENT_GPU : 0;
}

// LiteRT's event has a reference of its own.
bool GiveEvent(const Source& source, LiteRtTensorBuffer output, void* done) {
  const LiteRtRuntimeContext& litert = *source.litert;
  LiteRtEvent event = nullptr;
  LiteRtStatus status;
  if (source.gives_fences) {
    const int fd = fcntl(static_cast<int>(reinterpret_cast<intptr_t>(done)), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return false;
    status = litert.create_event_from_sync_fence_fd(source.environment, fd, true, &event);
    if (status != kLiteRtStatusOk) close(fd);
  } else {
    status = litert.create_event_from_opencl_event(source.environment, done, &event);
  }
  return status == kLiteRtStatusOk &&
         litert.set_tensor_buffer_event(output, event) == kLiteRtStatusOk;
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
         QUADRA_LITERT_HAS(c, create_event_from_sync_fence_fd) &&
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
  *source = {context, delegate, nullptr, false, nullptr};
  const QuadraBufferSource given = {
      source, Offer, Find, HasEvents(context) ? GoesOn : nullptr, Finish, Release, kDeadlineMs};
  QuadraDelegateSetBufferSource(delegate, &given);
}

LiteRtStatus ImportBuffer(void* opencl, void*, const void*, LiteRtTensorBufferType, void* handle,
                          size_t bytes, size_t, HwMemoryInfo** made) {
  QuadraGpuBuffer* buffer = QuadraGpuBufferCreate(AppsOnly(opencl), handle, bytes, Say);
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
