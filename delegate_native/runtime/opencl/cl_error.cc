#include "delegate_native/runtime/opencl/cl_api.h"

namespace quadra {
namespace {

struct ErrorName {
  cl_int code;
  const char* name;
};

#define QUADRA_CL_ERROR(name) {CL_##name, "CL_" #name}
constexpr ErrorName kErrors[] = {
    QUADRA_CL_ERROR(DEVICE_NOT_FOUND),
    QUADRA_CL_ERROR(DEVICE_NOT_AVAILABLE),
    QUADRA_CL_ERROR(COMPILER_NOT_AVAILABLE),
    QUADRA_CL_ERROR(MEM_OBJECT_ALLOCATION_FAILURE),
    QUADRA_CL_ERROR(OUT_OF_RESOURCES),
    QUADRA_CL_ERROR(OUT_OF_HOST_MEMORY),
    QUADRA_CL_ERROR(PROFILING_INFO_NOT_AVAILABLE),
    QUADRA_CL_ERROR(MEM_COPY_OVERLAP),
    QUADRA_CL_ERROR(IMAGE_FORMAT_MISMATCH),
    QUADRA_CL_ERROR(IMAGE_FORMAT_NOT_SUPPORTED),
    QUADRA_CL_ERROR(BUILD_PROGRAM_FAILURE),
    QUADRA_CL_ERROR(MAP_FAILURE),
    QUADRA_CL_ERROR(MISALIGNED_SUB_BUFFER_OFFSET),
    QUADRA_CL_ERROR(EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    QUADRA_CL_ERROR(INVALID_VALUE),
    QUADRA_CL_ERROR(INVALID_DEVICE),
    QUADRA_CL_ERROR(INVALID_CONTEXT),
    QUADRA_CL_ERROR(INVALID_COMMAND_QUEUE),
    QUADRA_CL_ERROR(INVALID_HOST_PTR),
    QUADRA_CL_ERROR(INVALID_MEM_OBJECT),
    QUADRA_CL_ERROR(INVALID_IMAGE_FORMAT_DESCRIPTOR),
    QUADRA_CL_ERROR(INVALID_IMAGE_SIZE),
    QUADRA_CL_ERROR(INVALID_BINARY),
    QUADRA_CL_ERROR(INVALID_BUILD_OPTIONS),
    QUADRA_CL_ERROR(INVALID_PROGRAM),
    QUADRA_CL_ERROR(INVALID_PROGRAM_EXECUTABLE),
    QUADRA_CL_ERROR(INVALID_KERNEL_NAME),
    QUADRA_CL_ERROR(INVALID_KERNEL_DEFINITION),
    QUADRA_CL_ERROR(INVALID_KERNEL),
    QUADRA_CL_ERROR(INVALID_ARG_INDEX),
    QUADRA_CL_ERROR(INVALID_ARG_VALUE),
    QUADRA_CL_ERROR(INVALID_ARG_SIZE),
    QUADRA_CL_ERROR(INVALID_KERNEL_ARGS),
    QUADRA_CL_ERROR(INVALID_WORK_DIMENSION),
    QUADRA_CL_ERROR(INVALID_WORK_GROUP_SIZE),
    QUADRA_CL_ERROR(INVALID_WORK_ITEM_SIZE),
    QUADRA_CL_ERROR(INVALID_EVENT),
    QUADRA_CL_ERROR(INVALID_OPERATION),
    QUADRA_CL_ERROR(INVALID_BUFFER_SIZE),
    QUADRA_CL_ERROR(INVALID_GLOBAL_WORK_SIZE),
    QUADRA_CL_ERROR(INVALID_IMAGE_DESCRIPTOR),
    QUADRA_CL_ERROR(INVALID_COMPILER_OPTIONS),
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};
#undef QUADRA_CL_ERROR

// Errors that OpenCL does not know: a kernel that was ended, most often.
constexpr cl_int kOfDrivers = -9999;

}  // namespace

std::string ClErrorName(cl_int code) {
  for (const ErrorName& error : kErrors) {
    if (error.code == code) return error.name;
  }
  return Format("error %d", code);
}

bool MayBeLost(cl_int code) {
  return code == CL_DEVICE_NOT_AVAILABLE || code == CL_INVALID_CONTEXT ||
         code == CL_INVALID_COMMAND_QUEUE || code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ||
         code == CL_OUT_OF_RESOURCES || code <= kOfDrivers;
}

Status ClFailed(const char* tried, cl_int code, const char* next) {
  const bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY;
  if (!next) {
    next = MayBeLost(code) ? "the device may be lost: make the delegate and its interpreter anew, "
                             "short of memory with precision=f32_f16"
           : memory        ? "precision=f32_f16 halves what is needed"
                           : "try backend=gles, and report this with what debug=1 prints";
  }
  const std::string came =
      code == CL_SUCCESS ? "the driver gave nothing and left no error" : ClErrorName(code);
  return DeviceFailed("%s: %s; next: %s", tried, came.c_str(), next);
}

}  // namespace quadra
