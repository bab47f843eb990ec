// Android's libOpenCL.so, as a phone's vendor puts it there: who asks for GPUs gets whatever the
// machine has. To callers in the libraries that BIONIC_CL_GPU_FOR names (part of the file's name;
// "*": all), a device says that it is a GPU and calls itself BIONIC_CL_NAME of BIONIC_CL_VENDOR:
// some code chooses its kernels by these names, or refuses what it does not know.
// All else is what the library that this one is linked with has (libOpenCL.so.1), but for what
// planted.h says.
#define CL_TARGET_OPENCL_VERSION 120
#define _GNU_SOURCE
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "planted.h"

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint size,
                      cl_device_id* devices, cl_uint* count) {
  cl_int (*next)(cl_platform_id, cl_device_type, cl_uint, cl_device_id*, cl_uint*) =
      dlsym(RTLD_NEXT, "clGetDeviceIDs");
  const cl_int result = next(platform, type, size, devices, count);
  const int retry = result == CL_DEVICE_NOT_FOUND && (type & CL_DEVICE_TYPE_GPU);
  return retry ? next(platform, CL_DEVICE_TYPE_ALL, size, devices, count) : result;
}

static int shows_gpu_to(const void* caller) {
  const char* who = getenv("BIONIC_CL_GPU_FOR");
  Dl_info info;
  if (!who || !*who) return 0;
  if (!strcmp(who, "*")) return 1;
  return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, who);
}

static cl_int give(const void* from, size_t bytes, size_t size, void* value, size_t* needed) {
  if (needed) *needed = bytes;
  if (value && size < bytes) return CL_INVALID_VALUE;
  if (value) memcpy(value, from, bytes);
  return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void* value,
                       size_t* needed) {
  cl_int (*next)(cl_device_id, cl_device_info, size_t, void*, size_t*) =
      dlsym(RTLD_NEXT, "clGetDeviceInfo");
  if (!shows_gpu_to(__builtin_return_address(0))) return next(device, what, size, value, needed);
  const char *name = getenv("BIONIC_CL_NAME"), *vendor = getenv("BIONIC_CL_VENDOR");
  const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
  if (what == CL_DEVICE_TYPE) return give(&gpu, sizeof gpu, size, value, needed);
  const char* said = what == CL_DEVICE_NAME ? name : what == CL_DEVICE_VENDOR ? vendor : NULL;
  if (said) return give(said, strlen(said) + 1, size, value, needed);
  return next(device, what, size, value, needed);
}

// A driver of one thread computes within the launch, others while somebody waits. (To wait for each
// launch here would cost as much as the fault itself.)
static double slow(void) {
  static double factor = -1.0;
  if (factor < 0.0) factor = planted("BIONIC_GPU_SLOW");
  return factor;
}

static double start_s(void) { return slow() > 1.0 ? now_s() : 0.0; }

static void end(double from_s) {
  if (slow() > 1.0) wait_longer(slow(), from_s);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t* offset, const size_t* global, const size_t* local,
                              cl_uint count, const cl_event* before, cl_event* event) {
  static cl_int (*next)(cl_command_queue, cl_kernel, cl_uint, const size_t*, const size_t*,
                        const size_t*, cl_uint, const cl_event*, cl_event*);
  if (!next) next = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
  const double started_s = start_s();
  const cl_int result =
      next(queue, kernel, dimensions, offset, global, local, count, before, event);
  end(started_s);
  return result;
}

cl_int clFinish(cl_command_queue queue) {
  static cl_int (*next)(cl_command_queue);
  if (!next) next = dlsym(RTLD_NEXT, "clFinish");
  const double started_s = start_s();
  const cl_int result = next(queue);
  end(started_s);
  return result;
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset,
                           size_t size, void* values, cl_uint count, const cl_event* before,
                           cl_event* event) {
  static cl_int (*next)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void*, cl_uint,
                        const cl_event*, cl_event*);
  if (!next) next = dlsym(RTLD_NEXT, "clEnqueueReadBuffer");
  const double started_s = start_s();
  const cl_int result = next(queue, buffer, blocks, offset, size, values, count, before, event);
  if (blocks) end(started_s);
  return result;
}

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char** texts,
                                     const size_t* sizes, cl_int* result) {
  cl_program (*next)(cl_context, cl_uint, const char**, const size_t*, cl_int*) =
      dlsym(RTLD_NEXT, "clCreateProgramWithSource");
  const double wrong = planted("BIONIC_GPU_WRONG");
  size_t size = count == 1 ? (sizes && sizes[0] ? sizes[0] : strlen(texts[0])) : 0;
  char* changed = wrong && size ? with_wrong_kernel(texts[0], &size, wrong) : NULL;
  const char* text = changed;
  cl_program made =
      changed ? next(context, 1, &text, &size, result) : next(context, count, texts, sizes, result);
  free(changed);
  return made;
}
