// ask_opencl_driver LIBOPENCL FILE...: has the OpenCL driver that LIBOPENCL finds compile kernels'
// texts, and prints whatever the driver says, as ask_driver.c does for OpenGL ES. Nothing is
// launched: the device may be a pretended one. A text's first line has its build options, behind
// `//`.
//
// Exit status 2: there is no such driver. It needs no header of OpenCL, and does not link it.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  kName = 0x102B,
  kVersion = 0x102F,
  kBuildLog = 0x1183,
  kMostPlatforms = 8,
  kMostKernels = 16,
};

static void* library;

static void give_up(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(2);
}

static void* function(const char* name) {
  void* found = dlsym(library, name);
  if (!found) give_up(name);
  return found;
}

// A function of the API, with its type: CALL(int, clReleaseKernel, (void*))(kernel)
#define CALL(result, name, arguments) ((result(*) arguments)function(#name))

static char* content(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) give_up(path);
  long size = ftell(file);
  rewind(file);
  char* text = calloc((size_t)size + 1, 1);
  if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) give_up(path);
  fclose(file);
  return text;
}

static void* first_device(void) {
  void *platforms[kMostPlatforms] = {NULL}, *device = NULL;
  unsigned count = 0;
  CALL(int, clGetPlatformIDs, (unsigned, void**, unsigned*))(kMostPlatforms, platforms, &count);
  for (unsigned i = 0; i < count && i < kMostPlatforms && !device; ++i)
    CALL(int, clGetDeviceIDs, (void*, unsigned long, unsigned, void**, unsigned*))(
        platforms[i], 0xFFFFFFFFul, 1, &device, NULL);
  if (!device) give_up("there is no OpenCL device");
  return device;
}

// The driver makes machine code when a kernel is made of the program, at the latest.
static const char* compiled(void* context, void* device, const char* text) {
  char options[1024] = "";
  const int length = (int)strcspn(text, "\n");
  if (length > 2) snprintf(options, sizeof options, "%.*s", length - 2, text + 2);
  int error = 0;
  void* program =
      CALL(void*, clCreateProgramWithSource, (void*, unsigned, const char**, const size_t*, int*))(
          context, 1, &text, NULL, &error);
  error = CALL(int, clBuildProgram, (void*, unsigned, void**, const char*, void*, void*))(
      program, 1, &device, options, NULL, NULL);
  if (error) {
    static char log[65536];
    CALL(int, clGetProgramBuildInfo, (void*, void*, unsigned, size_t, void*, size_t*))(
        program, device, kBuildLog, sizeof log, log, NULL);
    printf("log: %d %s\n", error, log);
    return "compile";
  }
  void* kernels[kMostKernels];
  unsigned count = 0;
  CALL(int, clCreateKernelsInProgram, (void*, unsigned, void**, unsigned*))(program, kMostKernels,
                                                                            kernels, &count);
  return count ? "ok" : "link";
}

int main(int count, char** words) {
  dup2(1, 2);  // drivers write to both: one order
  setvbuf(stdout, NULL, _IOLBF, 0);
  library = count > 1 ? dlopen(words[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
  if (!library) give_up(count > 1 ? dlerror() : "ask_opencl_driver LIBOPENCL FILE...");
  void* device = first_device();
  char name[256] = "", version[256] = "";
  CALL(int, clGetDeviceInfo, (void*, unsigned, size_t, void*, size_t*))(device, kName, sizeof name,
                                                                        name, NULL);
  CALL(int, clGetDeviceInfo, (void*, unsigned, size_t, void*, size_t*))(
      device, kVersion, sizeof version, version, NULL);
  printf("### device %s | %s\n", name, version);
  int error = 0;
  void* context = CALL(void*, clCreateContext, (const long*, unsigned, void**, void*, void*, int*))(
      NULL, 1, &device, NULL, NULL, &error);
  if (!context) give_up("clCreateContext");
  for (int i = 2; i < count; ++i) {
    char* text = content(words[i]);
    printf("### text %s\n", words[i]);
    const char* end = compiled(context, device, text);
    printf("### end %s\n", end);
    free(text);
  }
  fflush(stdout);
  _exit(0);  // a driver of a pretended device may not end in order
}
