// The parts of LiteRT's interface for accelerators that Quadra uses, written out so that the
// library links to nothing of LiteRT and builds without its sources. Names are LiteRT's. The
// layouts are those of 2.2.0 and later: members are only appended, and each table begins with its
// size. tests/test_accelerator.py reads them in running runtimes.
#ifndef QUADRA_ACCELERATOR_LITERT_ABI_H_
#define QUADRA_ACCELERATOR_LITERT_ABI_H_

#include <cstddef>
#include <cstdint>

#include "delegate_native/delegate/quadra.h"

extern "C" {

enum LiteRtStatus : int {
  kLiteRtStatusOk = 0,
  kLiteRtStatusErrorInvalidArgument = 1,
  kLiteRtStatusErrorRuntimeFailure = 3,
  kLiteRtStatusErrorWrongVersion = 8,
};

enum LiteRtHwAccelerators : int { kLiteRtHwAcceleratorGpu = 2 };

enum LiteRtTensorBufferType : int {
  kLiteRtTensorBufferTypeUnknown = 0,
  kLiteRtTensorBufferTypeHostMemory = 1,
  kLiteRtTensorBufferTypeAhwb = 2,
  kLiteRtTensorBufferTypeDmaBuf = 4,
  kLiteRtTensorBufferTypeFastRpc = 5,
  kLiteRtTensorBufferTypeGlBuffer = 6,
  kLiteRtTensorBufferTypeOpenClBuffer = 10,
};

enum LiteRtTensorBufferLockMode : int {
  kLiteRtTensorBufferLockModeRead = 0,
  kLiteRtTensorBufferLockModeWrite = 1,
  kLiteRtTensorBufferLockModeReadWrite = 2,
};

enum LiteRtEventType : int {
  kLiteRtEventTypeSyncFenceFd = 1,
  kLiteRtEventTypeOpenCl = 2,
};

enum LiteRtEnvOptionTag : int {
  kLiteRtEnvOptionTagOpenClDeviceId = 2,
  kLiteRtEnvOptionTagOpenClPlatformId = 3,
  kLiteRtEnvOptionTagOpenClContext = 4,
  kLiteRtEnvOptionTagOpenClCommandQueue = 5,
  kLiteRtEnvOptionTagEglDisplay = 6,
  kLiteRtEnvOptionTagEglContext = 7,
  kLiteRtEnvOptionTagNull = 255,
};

typedef struct LiteRtEnvironmentT* LiteRtEnvironment;
typedef struct LiteRtEnvironmentOptionsT* LiteRtEnvironmentOptions;
typedef struct LiteRtAcceleratorT* LiteRtAccelerator;
typedef struct LiteRtOptionsT* LiteRtOptions;
typedef struct LiteRtOpaqueOptionsT* LiteRtOpaqueOptions;
typedef struct LiteRtDelegateWrapperT* LiteRtDelegateWrapper;
typedef struct LiteRtExternalLiteRtBufferContextT* LiteRtExternalLiteRtBufferContext;
typedef struct LiteRtTensorBufferT* LiteRtTensorBuffer;
typedef struct LiteRtTensorBufferRequirementsT* LiteRtTensorBufferRequirements;
typedef struct LiteRtEventT* LiteRtEvent;
struct TfLiteTensor;

struct LiteRtApiVersion {
  int major, minor, patch;
};

struct LiteRtAbiHeader {
  uint16_t struct_size;  // of the table that it begins
  uint16_t major_version;
  uint16_t minor_version;
  uint16_t reserved;
};

struct LiteRtAny {
  int32_t type;
  int32_t unused;
  int64_t integer;  // handles, too
};

struct LiteRtEnvOption {
  int32_t tag;
  int32_t unused;
  LiteRtAny value;
};

// Functions that an accelerator may call, up to the last member that Quadra uses.
struct LiteRtRuntimeContext {
  LiteRtAbiHeader abi_header;
  LiteRtStatus (*create_tensor_buffer_requirements)(int types, const LiteRtTensorBufferType*,
                                                    size_t bytes, int strides, const uint32_t*,
                                                    LiteRtTensorBufferRequirements*);
  LiteRtStatus (*get_external_litert_buffer_context_tensor_buffer)(
      LiteRtExternalLiteRtBufferContext, const TfLiteTensor*, LiteRtTensorBuffer*);
  void* of_buffer_contexts[3];
  // Takes the requirements.
  LiteRtStatus (*external_litert_buffer_context_register_buffer_requirements)(
      LiteRtExternalLiteRtBufferContext, const TfLiteTensor*, LiteRtTensorBufferRequirements);
  LiteRtStatus (*external_litert_buffer_context_get_environment)(LiteRtExternalLiteRtBufferContext,
                                                                 LiteRtEnvironment*);
  LiteRtStatus (*external_litert_buffer_context_is_async_execution_mode)(
      LiteRtExternalLiteRtBufferContext, bool*);
  void* more_of_buffer_contexts;
  LiteRtStatus (*get_opaque_options)(LiteRtOptions, LiteRtOpaqueOptions*);
  LiteRtStatus (*find_opaque_options_data)(LiteRtOpaqueOptions, const char* identifier, void**);
  void* of_options;
  LiteRtStatus (*get_environment_options)(LiteRtEnvironment, LiteRtEnvironmentOptions*);
  LiteRtStatus (*get_environment_options_value)(LiteRtEnvironmentOptions, int tag, LiteRtAny*);
  void (*environment_has_gpu_environment)(LiteRtEnvironment, bool*);
  void* of_environments;
  LiteRtStatus (*gpu_environment_create)(LiteRtEnvironment, int options, const LiteRtEnvOption*);
  LiteRtStatus (*wrap_delegate)(TfLiteDelegate*, void (*deleter)(TfLiteDelegate*),
                                LiteRtDelegateWrapper*);
  void* of_new_buffers[3];
  void (*destroy_tensor_buffer)(LiteRtTensorBuffer);
  LiteRtStatus (*get_tensor_buffer_type)(LiteRtTensorBuffer, LiteRtTensorBufferType*);
  void* of_tensor_types;
  LiteRtStatus (*get_tensor_buffer_size)(LiteRtTensorBuffer, size_t*);
  LiteRtStatus (*get_tensor_buffer_packed_size)(LiteRtTensorBuffer, size_t*);
  LiteRtStatus (*get_tensor_buffer_offset)(LiteRtTensorBuffer, size_t*);
  LiteRtStatus (*lock_tensor_buffer)(LiteRtTensorBuffer, void** host, LiteRtTensorBufferLockMode);
  LiteRtStatus (*unlock_tensor_buffer)(LiteRtTensorBuffer);
  void* of_host_memory;
  LiteRtStatus (*get_tensor_buffer_opencl_memory)(LiteRtTensorBuffer, void** cl_mem);
  LiteRtStatus (*get_tensor_buffer_gl_buffer)(LiteRtTensorBuffer, uint32_t* target, uint32_t* name,
                                              size_t* bytes, size_t* offset);
  void* of_custom_memory;
  LiteRtStatus (*get_tensor_buffer_ahwb)(LiteRtTensorBuffer, void** hardware_buffer);
  LiteRtStatus (*get_tensor_buffer_dma_buf_buffer)(LiteRtTensorBuffer, void** host, int* fd);
  void* of_fast_rpc;
  LiteRtStatus (*has_tensor_buffer_event)(LiteRtTensorBuffer, bool*);
  LiteRtStatus (*get_tensor_buffer_event)(LiteRtTensorBuffer, LiteRtEvent*);
  // Takes the event.
  LiteRtStatus (*set_tensor_buffer_event)(LiteRtTensorBuffer, LiteRtEvent);
  void* of_new_events;
  LiteRtStatus (*create_event_from_sync_fence_fd)(LiteRtEnvironment, int fd, bool owns_fd,
                                                  LiteRtEvent*);
  LiteRtStatus (*get_event_event_type)(LiteRtEvent, LiteRtEventType*);
  LiteRtStatus (*get_event_sync_fence_fd)(LiteRtEvent, int* fd);
  LiteRtStatus (*create_event_from_opencl_event)(LiteRtEnvironment, void* cl_event, LiteRtEvent*);
  LiteRtStatus (*get_event_opencl_event)(LiteRtEvent, void** cl_event);
  void* of_custom_events[2];
  LiteRtStatus (*wait_event)(LiteRtEvent, int64_t timeout_ms);  // -1: as long as it takes
};

// Whether a runtime has a member, by the size of its table.
#define QUADRA_LITERT_HAS(context, member)                                   \
  ((context)->abi_header.major_version == 1 &&                               \
   (context)->abi_header.struct_size >=                                      \
       offsetof(LiteRtRuntimeContext, member) + sizeof((context)->member) && \
   (context)->member != nullptr)

// Begins what an accelerator knows of a buffer that it made.
struct HwMemoryInfo {
  void* memory_handle;
  void* raw_handle;
};

// Types of buffers that the accelerator makes. device and queue: what the environment has under the
// tags.
struct LiteRtCustomTensorBufferHandlersDef {
  LiteRtAbiHeader abi_header;
  LiteRtStatus (*create)(void* device, void* queue, const void* tensor_type, LiteRtTensorBufferType,
                         size_t bytes, size_t packed_bytes, HwMemoryInfo**);
  LiteRtStatus (*destroy)(HwMemoryInfo*);
  LiteRtStatus (*lock)(HwMemoryInfo*, LiteRtTensorBufferLockMode, void** host);
  LiteRtStatus (*unlock)(HwMemoryInfo*);
  LiteRtStatus (*clear)(HwMemoryInfo*);
  LiteRtStatus (*import)(void* device, void* queue, const void* tensor_type, LiteRtTensorBufferType,
                         void* handle, size_t bytes, size_t packed_bytes, HwMemoryInfo**);
  LiteRtEnvOptionTag device_tag, queue_tag;
  size_t num_supported_buffer_types;
  LiteRtTensorBufferType supported_buffer_types[16];
};

// The data symbol LiteRtAcceleratorImpl.
struct LiteRtAcceleratorDef {
  LiteRtAbiHeader abi_header;
  LiteRtStatus (*get_name)(LiteRtAccelerator, const char**);
  LiteRtStatus (*get_version)(LiteRtAccelerator, LiteRtApiVersion*);
  LiteRtStatus (*get_hardware_support)(LiteRtAccelerator, int* set);
  LiteRtStatus (*is_tflite_delegate_responsible_for_jit_compilation)(LiteRtAccelerator, bool*);
  // Fine without a wrapper: the accelerator has nothing to offer, and the next one is asked.
  LiteRtStatus (*create_delegate)(LiteRtRuntimeContext*, LiteRtEnvironment, LiteRtAccelerator,
                                  LiteRtOptions, LiteRtDelegateWrapper*);
  void* metrics[2];
  LiteRtCustomTensorBufferHandlersDef buffer_handlers;
};

}  // extern "C"

// Tables of pointers after a header of 8 bytes: the same rule for 64 and 32 bits.
#define QUADRA_LITERT_AT(type, member, pointers) \
  static_assert(offsetof(type, member) == 8 + (pointers) * sizeof(void*), "ABI")
static_assert(sizeof(LiteRtAbiHeader) == 8, "ABI");
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_external_litert_buffer_context_tensor_buffer, 1);
QUADRA_LITERT_AT(LiteRtRuntimeContext, external_litert_buffer_context_register_buffer_requirements,
                 5);
QUADRA_LITERT_AT(LiteRtRuntimeContext, external_litert_buffer_context_get_environment, 6);
QUADRA_LITERT_AT(LiteRtRuntimeContext, external_litert_buffer_context_is_async_execution_mode, 7);
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_opaque_options, 9);
QUADRA_LITERT_AT(LiteRtRuntimeContext, find_opaque_options_data, 10);
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_environment_options, 12);
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_environment_options_value, 13);
QUADRA_LITERT_AT(LiteRtRuntimeContext, environment_has_gpu_environment, 14);
QUADRA_LITERT_AT(LiteRtRuntimeContext, gpu_environment_create, 16);
QUADRA_LITERT_AT(LiteRtRuntimeContext, wrap_delegate, 17);
QUADRA_LITERT_AT(LiteRtRuntimeContext, destroy_tensor_buffer, 21);
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_tensor_buffer_type, 22);
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_tensor_buffer_size, 24);
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_tensor_buffer_packed_size, 25);
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_tensor_buffer_offset, 26);
QUADRA_LITERT_AT(LiteRtRuntimeContext, lock_tensor_buffer, 27);
QUADRA_LITERT_AT(LiteRtRuntimeContext, unlock_tensor_buffer, 28);
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_tensor_buffer_opencl_memory, 30);
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_tensor_buffer_gl_buffer, 31);
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_tensor_buffer_ahwb, 33);
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_tensor_buffer_dma_buf_buffer, 34);
QUADRA_LITERT_AT(LiteRtRuntimeContext, has_tensor_buffer_event, 36);
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_tensor_buffer_event, 37);
QUADRA_LITERT_AT(LiteRtRuntimeContext, set_tensor_buffer_event, 38);
QUADRA_LITERT_AT(LiteRtRuntimeContext, create_event_from_sync_fence_fd, 40);
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_event_event_type, 41);
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_event_sync_fence_fd, 42);
QUADRA_LITERT_AT(LiteRtRuntimeContext, create_event_from_opencl_event, 43);
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_event_opencl_event, 44);
QUADRA_LITERT_AT(LiteRtRuntimeContext, wait_event, 47);
static_assert(sizeof(LiteRtEnvOption) == 24 && offsetof(LiteRtEnvOption, value) == 8, "ABI");
QUADRA_LITERT_AT(LiteRtAcceleratorDef, get_name, 0);
QUADRA_LITERT_AT(LiteRtAcceleratorDef, create_delegate, 4);
QUADRA_LITERT_AT(LiteRtAcceleratorDef, buffer_handlers, 7);
QUADRA_LITERT_AT(LiteRtCustomTensorBufferHandlersDef, device_tag, 6);
static_assert(sizeof(LiteRtCustomTensorBufferHandlersDef) == 80 + 7 * sizeof(void*), "ABI");
static_assert(sizeof(LiteRtAcceleratorDef) == 88 + 14 * sizeof(void*), "ABI");
#if UINTPTR_MAX == UINT64_MAX
static_assert(sizeof(LiteRtAcceleratorDef) == 200, "ABI");
static_assert(sizeof(LiteRtRuntimeContext) == 392, "ABI");  // the whole of 2.1.6, with a header
#endif
#undef QUADRA_LITERT_AT

#endif  // QUADRA_ACCELERATOR_LITERT_ABI_H_
