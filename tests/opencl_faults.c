/* An OpenCL library for tests: the system's, but with the faults that the environment variable OPENCL_FAULTS names when
 * it is called: refuse_build (the compiler takes nothing), refuse_kernels (it takes all, and gives no kernel),
 * refuse_launch. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void* Handle;

static int Fault(const char* word) {
  const char* faults = getenv("OPENCL_FAULTS");
  return faults && strstr(faults, word);
}

#define WRAP(result, name, parameters)     \
  static result(*next_##name) parameters; \
  static result name parameters

WRAP(int, clBuildProgram, (Handle program, unsigned count, const Handle* devices, const char* options, void* done,
                           void* data)) {
  return Fault("refuse_build") ? -11 : next_clBuildProgram(program, count, devices, options, done, data);
}

WRAP(int, clGetProgramBuildInfo, (Handle program, Handle device, unsigned what, size_t size, void* value,
                                  size_t* needed)) {
  static const char kLog[] = "1:7: error: this test wants no such thing";
  if (!Fault("refuse_build") || what != 0x1183 /* the log */)
    return next_clGetProgramBuildInfo(program, device, what, size, value, needed);
  if (value && size >= sizeof kLog) memcpy(value, kLog, sizeof kLog);
  if (needed) *needed = sizeof kLog;
  return 0;
}

WRAP(Handle, clCreateKernel, (Handle program, const char* name, int* error)) {
  if (!Fault("refuse_kernels")) return next_clCreateKernel(program, name, error);
  if (error) *error = -46; /* CL_INVALID_KERNEL_NAME */
  return NULL;
}

WRAP(int, clEnqueueNDRangeKernel, (Handle queue, Handle kernel, unsigned dimensions, const size_t* offset,
                                   const size_t* global, const size_t* local, unsigned count, const Handle* events,
                                   Handle* event)) {
  if (Fault("refuse_launch")) return -5; /* CL_OUT_OF_RESOURCES */
  return next_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, events, event);
}

#define HOOK(name) {#name, (void*)name, (void**)&next_##name}
static const struct {
  const char* name;
  void* function;
  void** next;
} kHooks[] = {HOOK(clBuildProgram), HOOK(clGetProgramBuildInfo), HOOK(clCreateKernel), HOOK(clEnqueueNDRangeKernel)};

/* Where the delegate asks for functions, if a library has it. */
void* loadOpenCLPointer(const char* name) {
  static void* library;
  if (!library) library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  void* function = library ? dlsym(library, name) : NULL;
  for (size_t i = 0; function && i < sizeof kHooks / sizeof kHooks[0]; ++i) {
    if (strcmp(kHooks[i].name, name)) continue;
    *kHooks[i].next = function;
    return kHooks[i].function;
  }
  return function;
}
