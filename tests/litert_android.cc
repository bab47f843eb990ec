// An accelerator for tests, in the place of Quadra's, which it hands LiteRT's table of functions on
// to with changes: memory of the host that a test names has the types of buffers that LiteRT has on
// Android alone; and an environment may fail to get OpenCL. ACCELERATOR: the path of Quadra's.
#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <string>

#include "delegate_native/accelerator/litert_abi.h"

namespace {

struct Memory {
  LiteRtTensorBufferType type;
  void* handle;  // an AHardwareBuffer, or a file descriptor
};
std::map<void*, Memory> memories;  // by address
std::string asked;                 // types of buffers, one list for each tensor
bool refuses_opencl = false;
LiteRtRuntimeContext real, table;
const LiteRtAcceleratorDef* quadra = nullptr;

const Memory* Find(LiteRtTensorBuffer buffer) {
  void* address = nullptr;
  LiteRtTensorBufferType type;
  const auto host =
      reinterpret_cast<LiteRtStatus (*)(LiteRtTensorBuffer, void**)>(real.of_host_memory);
  if (real.get_tensor_buffer_type(buffer, &type) != kLiteRtStatusOk ||
      type != kLiteRtTensorBufferTypeHostMemory || host(buffer, &address) != kLiteRtStatusOk) {
    return nullptr;
  }
  const auto found = memories.find(address);
  return found == memories.end() ? nullptr : &found->second;
}

LiteRtStatus TypeOf(LiteRtTensorBuffer buffer, LiteRtTensorBufferType* type) {
  const Memory* memory = Find(buffer);
  if (!memory) return real.get_tensor_buffer_type(buffer, type);
  *type = memory->type;
  return kLiteRtStatusOk;
}

LiteRtStatus HardwareBufferOf(LiteRtTensorBuffer buffer, void** handle) {
  *handle = Find(buffer)->handle;
  return kLiteRtStatusOk;
}

LiteRtStatus DmaBufOf(LiteRtTensorBuffer buffer, void** host, int* fd) {
  *host = nullptr;
  *fd = static_cast<int>(reinterpret_cast<intptr_t>(Find(buffer)->handle));
  return kLiteRtStatusOk;
}

LiteRtStatus Ask(int count, const LiteRtTensorBufferType* types, size_t bytes, int strides,
                 const uint32_t* stride, LiteRtTensorBufferRequirements* made) {
  for (int i = 0; i < count; ++i) asked += std::to_string(types[i]) + (i + 1 < count ? "," : " ");
  return real.create_tensor_buffer_requirements(count, types, bytes, strides, stride, made);
}

LiteRtStatus GiveGpu(LiteRtEnvironment environment, int count, const LiteRtEnvOption* options) {
  if (!refuses_opencl) return real.gpu_environment_create(environment, count, options);
  // As LiteRT does where it opens no OpenCL: the options stay.
  using Add = LiteRtStatus (*)(LiteRtEnvironment, int, const LiteRtEnvOption*, bool);
  reinterpret_cast<Add>(real.of_environments)(environment, count, options, false);
  return kLiteRtStatusErrorRuntimeFailure;
}

LiteRtStatus Create(LiteRtRuntimeContext* context, LiteRtEnvironment environment,
                    LiteRtAccelerator accelerator, LiteRtOptions options,
                    LiteRtDelegateWrapper* wrapper) {
  real = table = *context;
  table.abi_header.struct_size = sizeof(table);
  table.get_tensor_buffer_type = TypeOf;
  table.get_tensor_buffer_ahwb = HardwareBufferOf;
  table.get_tensor_buffer_dma_buf_buffer = DmaBufOf;
  table.create_tensor_buffer_requirements = Ask;
  table.gpu_environment_create = GiveGpu;
  return quadra->create_delegate(&table, environment, accelerator, options, wrapper);
}

}  // namespace

extern "C" {

QUADRA_EXPORT extern LiteRtAcceleratorDef LiteRtAcceleratorImpl;
LiteRtAcceleratorDef LiteRtAcceleratorImpl;

__attribute__((constructor)) static void Open() {
  void* library = dlopen(getenv("ACCELERATOR"), RTLD_NOW | RTLD_LOCAL);
  if (!library) abort();
  quadra = static_cast<const LiteRtAcceleratorDef*>(dlsym(library, "LiteRtAcceleratorImpl"));
  LiteRtAcceleratorImpl = *quadra;
  LiteRtAcceleratorImpl.create_delegate = Create;
}

QUADRA_EXPORT void NameMemory(void* address, int type, void* handle) {
  memories[address] = {static_cast<LiteRtTensorBufferType>(type), handle};
}

QUADRA_EXPORT const char* AskedTypes() { return asked.c_str(); }

QUADRA_EXPORT void RefuseOpenCl(int refuses) { refuses_opencl = refuses != 0; }

}  // extern "C"
