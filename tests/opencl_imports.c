// An OpenCL library for tests: the system's, but its device calls itself a GPU and imports memory
// of the system by the extensions that the environment variable IMPORTS names (words). A file
// descriptor of any memory stands for a dma-buf; an AHardwareBuffer is one of tests/nativewindow.c.
// IMPORTS_REFUSE: a code with which every import fails.
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 64
static struct Import {
  cl_mem memory;
  void* mapped;
  size_t bytes;
  cl_ulong type;
  int fd;  // of KHR's, which the driver owns
  int is_khr, is_acquired;
} imports[MOST];
// Arguments of kernels that ever were a buffer.
static struct Use {
  cl_kernel kernel;
  cl_uint index;
  cl_mem memory;
} uses[1024];
static int used;
// `made` ever and `alive` now; how often a kernel was launched on memory of KHR's that was not
// acquired.
static int made, alive, unowned;

static void* real(const char* name) {
  static void* library;
  if (!library) library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  return library ? dlsym(library, name) : NULL;
}
#define REAL(name) ((__typeof__(&name))real(#name))

static struct Import* find(cl_mem memory) {
  for (int i = 0; i < MOST; ++i) {
    if (imports[i].memory == memory) return &imports[i];
  }
  return NULL;
}

static cl_mem refused(cl_int code, cl_int* error) {
  *error = code;
  return NULL;
}

static cl_mem import(cl_context context, int fd, size_t bytes, cl_ulong type, int is_khr,
                     cl_int* error) {
  const char* code = getenv("IMPORTS_REFUSE");
  if (code && *code) return refused(atoi(code), error);
  struct Import* one = find(NULL);
  void* mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED || !one) return refused(CL_INVALID_VALUE, error);
  const cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
  const cl_mem memory = REAL(clCreateBuffer)(context, flags, bytes, mapped, error);
  if (!memory) return NULL;
  *one = (struct Import){memory, mapped, bytes, type, is_khr ? fd : -1, is_khr, 0};
  ++made, ++alive;
  return memory;
}

// The first member of an AHardwareBuffer of tests/nativewindow.c is its memory.
static int fd_of(const void* hardware_buffer) { return *(const int*)hardware_buffer; }

static cl_mem CL_API_CALL import_arm(cl_context context, cl_mem_flags flags,
                                     const cl_import_properties_arm* properties, void* memory,
                                     size_t bytes, cl_int* error) {
  if (!(flags & CL_MEM_READ_WRITE) || properties[0] != CL_IMPORT_TYPE_ARM || properties[2]) abort();
  if (properties[1] == CL_IMPORT_TYPE_ANDROID_HARDWARE_BUFFER_ARM) {
    if (bytes != CL_IMPORT_MEMORY_WHOLE_ALLOCATION_ARM) return refused(CL_INVALID_VALUE, error);
    bytes = (size_t)lseek(fd_of(memory), 0, SEEK_END);
  }
  // A pointer to the file descriptor, or the buffer.
  return import(context, fd_of(memory), bytes, (cl_ulong)properties[1], 0, error);
}

static cl_mem CL_API_CALL create_qcom(cl_context context, cl_mem_flags flags, size_t bytes,
                                      void* from, cl_int* error) {
  if (!(flags & CL_MEM_EXT_HOST_PTR_QCOM))
    return REAL(clCreateBuffer)(context, flags, bytes, from, error);
  const struct {
    cl_uint type, policy;
    const void* buffer;
  }* given = from;
  return import(context, fd_of(given->buffer), bytes, given->type, 0, error);
}

static cl_mem CL_API_CALL create_khr(cl_context context, const cl_mem_properties* properties,
                                     cl_mem_flags flags, size_t bytes, void* host, cl_int* error) {
  (void)flags;
  if (host || properties[2]) abort();
  const int is_fd = properties[0] == CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR;
  const int fd = is_fd ? (int)properties[1] : dup(fd_of((const void*)(size_t)properties[1]));
  return import(context, fd, bytes, properties[0], 1, error);
}

static cl_int hand_over(cl_uint count, const cl_mem* memories, int acquired) {
  for (cl_uint i = 0; i < count; ++i) {
    const struct Import* one = find(memories[i]);
    if (!one || !one->is_khr || one->is_acquired == acquired) return CL_INVALID_OPERATION;
  }
  for (cl_uint i = 0; i < count; ++i) find(memories[i])->is_acquired = acquired;
  return CL_SUCCESS;
}
static cl_int CL_API_CALL acquire(cl_command_queue queue, cl_uint count, const cl_mem* memories,
                                  cl_uint events, const cl_event* before, cl_event* event) {
  (void)queue, (void)events, (void)before, (void)event;
  return hand_over(count, memories, 1);
}
static cl_int CL_API_CALL release(cl_command_queue queue, cl_uint count, const cl_mem* memories,
                                  cl_uint events, const cl_event* before, cl_event* event) {
  (void)queue, (void)events, (void)before, (void)event;
  return hand_over(count, memories, 0);
}

static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t size,
                                       const void* value) {
  if (size == sizeof(cl_mem) && value) {
    int i = 0;
    while (i < used && (uses[i].kernel != kernel || uses[i].index != index)) ++i;
    if (i == sizeof(uses) / sizeof(*uses)) abort();
    if (i == used) ++used;
    uses[i] = (struct Use){kernel, index, *(const cl_mem*)value};
  }
  return REAL(clSetKernelArg)(kernel, index, size, value);
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint axes,
                                 const size_t* offset, const size_t* global, const size_t* local,
                                 cl_uint events, const cl_event* before, cl_event* event) {
  for (int i = 0; i < used; ++i) {
    const struct Import* one =
        uses[i].kernel == kernel && uses[i].memory ? find(uses[i].memory) : NULL;
    unowned += one && one->is_khr && !one->is_acquired;
  }
  return REAL(clEnqueueNDRangeKernel)(queue, kernel, axes, offset, global, local, events, before,
                                      event);
}

// PoCL is done with what the delegate releases: each of its inferences has ended.
static cl_int CL_API_CALL release_memory(cl_mem memory) {
  struct Import* one = memory ? find(memory) : NULL;
  const cl_int code = REAL(clReleaseMemObject)(memory);
  if (!one) return code;
  munmap(one->mapped, one->bytes);
  if (one->fd >= 0) close(one->fd);
  memset(one, 0, sizeof(*one));
  --alive;
  return code;
}

static cl_int CL_API_CALL memory_info(cl_mem memory, cl_mem_info what, size_t size, void* value,
                                      size_t* needed) {
  const struct Import* one = memory ? find(memory) : NULL;
  if (what != CL_MEM_PROPERTIES || !one || !one->is_khr) {
    return REAL(clGetMemObjectInfo)(memory, what, size, value, needed);
  }
  // As of a driver that names the device, too.
  const cl_mem_properties properties[] = {CL_DEVICE_HANDLE_LIST_KHR, 1, 2, 0, one->type, 0, 0};
  if (needed) *needed = sizeof(properties);
  if (value && size < sizeof(properties)) return CL_INVALID_VALUE;
  if (value) memcpy(value, properties, sizeof(properties));
  return CL_SUCCESS;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t size,
                                      void* value, size_t* needed) {
  char text[8192];
  size_t bytes = 0;
  if (what != CL_DEVICE_EXTENSIONS) {
    const cl_int code = REAL(clGetDeviceInfo)(device, what, size, value, needed);
    if (code != CL_SUCCESS || !value) return code;
    if (what == CL_DEVICE_TYPE) *(cl_device_type*)value = CL_DEVICE_TYPE_GPU;
    if (what == CL_DEVICE_NAME || what == CL_DEVICE_VERSION || what == CL_DRIVER_VERSION) {
      for (char* at = value; (at = strcasestr(at, "pocl"));) memcpy(at, "none", 4);
    }
    return code;
  }
  const cl_int code = REAL(clGetDeviceInfo)(device, what, sizeof(text), text, &bytes);
  const char* more = getenv("IMPORTS");
  if (code != CL_SUCCESS) return code;
  snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", more ? more : "");
  if (needed) *needed = strlen(text) + 1;
  if (value && size < strlen(text) + 1) return CL_INVALID_VALUE;
  if (value) strcpy(value, text);
  return CL_SUCCESS;
}

struct Named {
  const char* name;
  void* function;
};

static void* CL_API_CALL extension(cl_platform_id platform, const char* name) {
  (void)platform;
  const struct Named named[] = {{"clImportMemoryARM", import_arm},
                                {"clEnqueueAcquireExternalMemObjectsKHR", acquire},
                                {"clEnqueueReleaseExternalMemObjectsKHR", release}};
  for (size_t i = 0; i < sizeof(named) / sizeof(*named); ++i) {
    if (strcmp(name, named[i].name) == 0) return named[i].function;
  }
  return NULL;
}

__attribute__((visibility("default"))) void* loadOpenCLPointer(const char* name) {
  const struct Named named[] = {{"clCreateBuffer", create_qcom},
                                {"clCreateBufferWithProperties", create_khr},
                                {"clEnqueueNDRangeKernel", launch},
                                {"clGetDeviceInfo", device_info},
                                {"clGetExtensionFunctionAddressForPlatform", extension},
                                {"clGetMemObjectInfo", memory_info},
                                {"clReleaseMemObject", release_memory},
                                {"clSetKernelArg", set_argument}};
  for (size_t i = 0; i < sizeof(named) / sizeof(*named); ++i) {
    if (strcmp(name, named[i].name) == 0) return named[i].function;
  }
  return real(name);
}

// made, alive, unowned.
__attribute__((visibility("default"))) void ImportsReport(int* counts) {
  counts[0] = made, counts[1] = alive, counts[2] = unowned;
}
