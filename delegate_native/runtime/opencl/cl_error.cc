#include "delegate_native/base/names.h"
#include "delegate_native/runtime/opencl/cl_api.h"

namespace quadra {
namespace {

// From -1 downwards; a code that no call here returns has an empty name.
constexpr const char* kErrors = QUADRA_NAMES(
    "DEVICE_NOT_FOUND\n"
    "DEVICE_NOT_AVAILABLE\n"
    "COMPILER_NOT_AVAILABLE\n"
    "MEM_OBJECT_ALLOCATION_FAILURE\n"
    "OUT_OF_RESOURCES\n"
    "OUT_OF_HOST_MEMORY\n"
    "PROFILING_INFO_NOT_AVAILABLE\n"
    "MEM_COPY_OVERLAP\n"
    "IMAGE_FORMAT_MISMATCH\n"
    "IMAGE_FORMAT_NOT_SUPPORTED\n"
    "BUILD_PROGRAM_FAILURE\n"
    "MAP_FAILURE\n"
    "MISALIGNED_SUB_BUFFER_OFFSET\n"
    "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST\n"
    "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
    "INVALID_VALUE\n"
    "\n\n"
    "INVALID_DEVICE\n"
    "INVALID_CONTEXT\n"
    "\n"
    "INVALID_COMMAND_QUEUE\n"
    "INVALID_HOST_PTR\n"
    "INVALID_MEM_OBJECT\n"
    "INVALID_IMAGE_FORMAT_DESCRIPTOR\n"
    "INVALID_IMAGE_SIZE\n"
    "\n"
    "INVALID_BINARY\n"
    "INVALID_BUILD_OPTIONS\n"
    "INVALID_PROGRAM\n"
    "INVALID_PROGRAM_EXECUTABLE\n"
    "INVALID_KERNEL_NAME\n"
    "INVALID_KERNEL_DEFINITION\n"
    "INVALID_KERNEL\n"
    "INVALID_ARG_INDEX\n"
    "INVALID_ARG_VALUE\n"
    "INVALID_ARG_SIZE\n"
    "INVALID_KERNEL_ARGS\n"
    "INVALID_WORK_DIMENSION\n"
    "INVALID_WORK_GROUP_SIZE\n"
    "INVALID_WORK_ITEM_SIZE\n"
    "\n\n"
    "INVALID_EVENT\n"
    "INVALID_OPERATION\n"
    "\n"
    "INVALID_BUFFER_SIZE\n"
    "\n"
    "INVALID_GLOBAL_WORK_SIZE\n"
    "\n"
    "INVALID_IMAGE_DESCRIPTOR\n"
    "INVALID_COMPILER_OPTIONS\n");
constexpr cl_int kPlatformNotFound = -1001;  // of the extension cl_khr_icd

// Errors that OpenCL does not know: a kernel that was ended, most often.
constexpr cl_int kOfDrivers = -9999;

}  // namespace

std::string ClErrorName(cl_int code) {
  if (code == kPlatformNotFound) return "CL_PLATFORM_NOT_FOUND_KHR";
  const std::string name = NameAt(kErrors, ~code);
  return name.empty() ? Format("error %d", code) : "CL_" + name;
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
