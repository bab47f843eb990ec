#include "delegate_native/runtime/opencl/cl_api.h"

#include <dlfcn.h>

#include <vector>

#include "delegate_native/base/functions.h"
#include "delegate_native/base/log.h"
#include "delegate_native/base/names.h"

namespace quadra {
namespace {

#ifdef __LP64__
#define QUADRA_LIB "lib64"
#else
#define QUADRA_LIB "lib"
#endif

// In this order. Pixel phones have a library of their own that must be switched on first; some
// vendors put OpenCL into the library of another API.
const char* const kLibraries[] = {
#ifdef __ANDROID__
    "libOpenCL-pixel.so",
    "libOpenCL-car.so",
#endif
    "libOpenCL.so",
    "libOpenCL.so.1",
#ifdef __ANDROID__
    "/vendor/" QUADRA_LIB "/libOpenCL.so",
    "/system/vendor/" QUADRA_LIB "/libOpenCL.so",
    "/vendor/" QUADRA_LIB "/egl/libGLES_mali.so",
    "libGLES_mali.so",
    "/vendor/" QUADRA_LIB "/libPVROCL.so",
    "libPVROCL.so",
#endif
};

#define QUADRA_CL_NAME(name) "cl" #name "\n"
constexpr const char* kNames = QUADRA_NAMES(QUADRA_CL_FUNCTIONS(QUADRA_CL_NAME));
#undef QUADRA_CL_NAME
constexpr const char* kOptional = QUADRA_NAMES(
    "clCreateBufferWithProperties\n"
    "clGetExtensionFunctionAddressForPlatform\n");

using Lookup = void* (*)(const char* name);

template <typename Function>
Function Cast(void* symbol) {
  return reinterpret_cast<Function>(symbol);
}

Status FindClFunctions(void* library, const std::string& path, ClApi* api) {
  if (void* enable = dlsym(library, "enableOpenCL")) Cast<void (*)()>(enable)();
  const Lookup lookup = Cast<Lookup>(dlsym(library, "loadOpenCLPointer"));
  const auto find = [&](const char* name) { return lookup ? lookup(name) : dlsym(library, name); };
  const std::string missing = FindFunctions(find, kNames, api);
  FindFunctions(find, kOptional, static_cast<void*>(&api->CreateBufferWithProperties));
  if (missing.empty()) return Status();
  return DeviceFailed("%s lacks %s; Quadra needs OpenCL 1.2", path.c_str(), missing.c_str());
}

}  // namespace

Status LoadClApi(const std::string& library, ClApi* api) {
  std::vector<std::string> paths(std::begin(kLibraries), std::end(kLibraries));
  if (!library.empty()) paths = {library};
  std::string tried;
  for (const std::string& path : paths) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    Status status;
    if (handle) {
      status = FindClFunctions(handle, path, api);
      if (status.ok()) {
        Log(1, "OpenCL library: %s", path.c_str());
        return status;
      }
    }
    const char* error = handle ? nullptr : dlerror();
    tried += (tried.empty() ? "" : "; ") + (error ? std::string(error) : status.message());
  }
  return DeviceFailed(
      "open the OpenCL library: %s; next: install an OpenCL driver (Debian: pocl-opencl-icd), or "
      "name the library in the option opencl_library",
      tried.c_str());
}

}  // namespace quadra
