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
  kLiteRtStatusErrorWrongVersion = 8,
};

enum LiteRtHwAccelerators : int { kLiteRtHwAcceleratorGpu = 2 };

typedef struct LiteRtEnvironmentT* LiteRtEnvironment;
typedef struct LiteRtAcceleratorT* LiteRtAccelerator;
typedef struct LiteRtOptionsT* LiteRtOptions;
typedef struct LiteRtOpaqueOptionsT* LiteRtOpaqueOptions;
typedef struct LiteRtDelegateWrapperT* LiteRtDelegateWrapper;

struct LiteRtApiVersion {
  int major, minor, patch;
};

struct LiteRtAbiHeader {
  uint16_t struct_size;  // of the table that it begins
  uint16_t major_version;
  uint16_t minor_version;
  uint16_t reserved;
};

// What the runtime lets an accelerator call, up to the last member that Quadra uses.
struct LiteRtRuntimeContext {
  LiteRtAbiHeader abi_header;
  void* of_buffer_contexts[9];
  LiteRtStatus (*get_opaque_options)(LiteRtOptions, LiteRtOpaqueOptions*);
  LiteRtStatus (*find_opaque_options_data)(LiteRtOpaqueOptions, const char* identifier, void**);
  void* of_environments[6];
  LiteRtStatus (*wrap_delegate)(TfLiteDelegate*, void (*deleter)(TfLiteDelegate*),
                                LiteRtDelegateWrapper*);
};

// Whether a runtime has a member, by the size of its table.
#define QUADRA_LITERT_HAS(context, member)                                   \
  ((context)->abi_header.major_version == 1 &&                               \
   (context)->abi_header.struct_size >=                                      \
       offsetof(LiteRtRuntimeContext, member) + sizeof((context)->member) && \
   (context)->member != nullptr)

// For buffers of the accelerator's own making; Quadra has none.
struct LiteRtCustomTensorBufferHandlersDef {
  LiteRtAbiHeader abi_header;
  void* functions[6];
  int device_tag, queue_tag;
  size_t num_supported_buffer_types;
  int supported_buffer_types[16];
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
QUADRA_LITERT_AT(LiteRtRuntimeContext, get_opaque_options, 9);
QUADRA_LITERT_AT(LiteRtRuntimeContext, find_opaque_options_data, 10);
QUADRA_LITERT_AT(LiteRtRuntimeContext, wrap_delegate, 17);
QUADRA_LITERT_AT(LiteRtAcceleratorDef, get_name, 0);
QUADRA_LITERT_AT(LiteRtAcceleratorDef, create_delegate, 4);
QUADRA_LITERT_AT(LiteRtAcceleratorDef, buffer_handlers, 7);
QUADRA_LITERT_AT(LiteRtCustomTensorBufferHandlersDef, device_tag, 6);
static_assert(sizeof(LiteRtCustomTensorBufferHandlersDef) == 80 + 7 * sizeof(void*), "ABI");
static_assert(sizeof(LiteRtAcceleratorDef) == 88 + 14 * sizeof(void*), "ABI");
#if UINTPTR_MAX == UINT64_MAX
static_assert(sizeof(LiteRtAcceleratorDef) == 200, "ABI");
#endif
#undef QUADRA_LITERT_AT

#endif  // QUADRA_ACCELERATOR_LITERT_ABI_H_
