#include "delegate_native/runtime/opencl/cl_import.h"

#include <unistd.h>

#include <utility>

#include "delegate_native/base/texts.h"

namespace quadra {
namespace {

using Kind = SystemMemory::Kind;

// Newer than the headers of some systems.
constexpr cl_uint kQcomHardwareBuffer = 0x4119;
constexpr cl_uint kKhrHardwareBuffer = 0x2070;

class ClImport : public SystemMemory {
 public:
  void* object() const override { return memory.get(); }
  ClHandle<cl_mem> memory;
};

// The driver reads the file descriptor behind the pointer, and keeps a reference to the memory.
cl_mem ByArm(const ClContext& context, const SystemMemory& memory, cl_uint type, cl_int* code) {
  const cl_import_properties_arm properties[] = {CL_IMPORT_TYPE_ARM,
                                                 static_cast<cl_import_properties_arm>(type), 0};
  int fd = memory.fd();
  const bool is_fd = fd >= 0;
  // The extension takes an AHardwareBuffer as a whole only.
  return context.import_arm(context.context.get(), CL_MEM_READ_WRITE, properties,
                            is_fd ? &fd : memory.hardware_buffer(),
                            is_fd ? memory.bytes() : CL_IMPORT_MEMORY_WHOLE_ALLOCATION_ARM, code);
}

cl_mem ByQcom(const ClContext& context, const SystemMemory& memory, cl_uint type, cl_int* code) {
  struct {
    cl_uint type, cache_policy;
    void* buffer;
  } from = {type, CL_MEM_HOST_WRITEBACK_QCOM, memory.hardware_buffer()};
  return context.api.CreateBuffer(
      context.context.get(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR | CL_MEM_EXT_HOST_PTR_QCOM,
      memory.bytes(), &from, code);
}

// The driver takes the file descriptor, if it succeeds.
cl_mem ByKhr(const ClContext& context, const SystemMemory& memory, cl_uint type, cl_int* code) {
  const bool is_fd = memory.fd() >= 0;
  const int fd = is_fd ? memory.Duplicate() : -1;
  *code = CL_OUT_OF_HOST_MEMORY;
  if (is_fd && fd < 0) return nullptr;
  const intptr_t handle = is_fd ? fd : reinterpret_cast<intptr_t>(memory.hardware_buffer());
  const cl_mem_properties properties[] = {type, static_cast<cl_mem_properties>(handle), 0};
  const cl_mem made = context.api.CreateBufferWithProperties(
      context.context.get(), properties, CL_MEM_READ_WRITE, memory.bytes(), nullptr, code);
  if (!made && is_fd) close(fd);
  return made;
}

// The best first: what is KHR's is acquired and released in each inference.
constexpr struct Way {
  const char* extension;
  Kind kind;
  cl_uint type;
  cl_mem (*import)(const ClContext&, const SystemMemory&, cl_uint type, cl_int* code);
} kWays[] = {
    {QUADRA_TEXT("cl_arm_import_memory_dma_buf"), Kind::kDmaBuf, CL_IMPORT_TYPE_DMA_BUF_ARM, ByArm},
    {QUADRA_TEXT("cl_arm_import_memory_android_hardware_buffer"), Kind::kHardwareBuffer,
     CL_IMPORT_TYPE_ANDROID_HARDWARE_BUFFER_ARM, ByArm},
    {QUADRA_TEXT("cl_qcom_android_ahardwarebuffer_host_ptr"), Kind::kHardwareBuffer,
     kQcomHardwareBuffer, ByQcom},
    {QUADRA_TEXT("cl_khr_external_memory_dma_buf"), Kind::kDmaBuf,
     CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR, ByKhr},
    {QUADRA_TEXT("cl_khr_external_memory_android_hardware_buffer"), Kind::kHardwareBuffer,
     kKhrHardwareBuffer, ByKhr},
};

// Some drivers name an extension and lack its functions.
bool Can(const ClContext& context, const Way& way) {
  if (way.import == ByArm && !context.import_arm) return false;
  if (way.import == ByKhr && (!context.api.CreateBufferWithProperties || !context.acquire)) {
    return false;
  }
  return context.info.Has(way.extension);
}

}  // namespace

Status ImportClMemory(ClContext* context, Kind kind, void* handle, size_t bytes,
                      std::unique_ptr<SystemMemory>* memory) {
  const Way* way = kWays;
  const Way* const end = kWays + sizeof(kWays) / sizeof(*kWays);
  while (way != end && (way->kind != kind || !Can(*context, *way))) ++way;
  if (way == end) return Unsupported("the OpenCL driver has no extension that imports it");
  if (!handle) return Status();
  auto made = std::make_unique<ClImport>();
  QUADRA_RETURN_IF_ERROR(made->Open(kind, handle, bytes));
  cl_int code = CL_SUCCESS;
  made->memory = ClHandle<cl_mem>(way->import(*context, *made, way->type, &code),
                                  context->api.ReleaseMemObject);
  if (!made->memory || code != CL_SUCCESS) {
    return context->Failed(way->extension, code);
  }
  *memory = std::move(made);
  return Status();
}

}  // namespace quadra
