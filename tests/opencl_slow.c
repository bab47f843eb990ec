/* An OpenCL library for tests: the system's, but from the first launch to the next wait everything
 * takes OPENCL_SLOW times as long (1.1: a tenth longer; it computes while it waits, as slower
 * kernels would), each such wait sleeps OPENCL_SLEEP microseconds, and where the text of a kernel
 * has the word OPENCL_WRONG, its last `+=` becomes a `-=`. The text OPENCL_BEFORE is put before
 * each program's. Of floats in memory that is given to the device, those that are
 * OPENCL_WRONG_CONSTANT are 3 more. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef void* Handle;

static double began; /* processor time at the first launch since the last wait; 0: none */

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

static int Waited(int status) {
  const char* factor = getenv("OPENCL_SLOW");
  double now = Now(), until = now + (now - began) * ((factor ? atof(factor) : 1.0) - 1.0);
  while (began && Now() < until) continue;
  const char* sleep = getenv("OPENCL_SLEEP");
  if (began && sleep) usleep((unsigned)atoi(sleep));
  began = 0;
  return status;
}

#define WRAP(result, name, parameters)    \
  static result(*next_##name) parameters; \
  static result name parameters

WRAP(int, clFinish, (Handle queue)) { return Waited(next_clFinish(queue)); }

WRAP(int, clWaitForEvents, (unsigned count, const Handle* events)) {
  return Waited(next_clWaitForEvents(count, events));
}

WRAP(int, clEnqueueNDRangeKernel,
     (Handle queue, Handle kernel, unsigned dimensions, const size_t* offset, const size_t* global,
      const size_t* local, unsigned count, const Handle* events, Handle* event)) {
  if (!began) began = Now();
  return next_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count,
                                     events, event);
}

WRAP(int, clEnqueueReadBuffer,
     (Handle queue, Handle buffer, unsigned blocking, size_t offset, size_t size, void* to,
      unsigned count, const Handle* events, Handle* event)) {
  int status =
      next_clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, count, events, event);
  return blocking ? Waited(status) : status;
}

WRAP(Handle, clCreateProgramWithSource,
     (Handle context, unsigned count, const char** texts, const size_t* sizes, int* error)) {
  const char* word = getenv("OPENCL_WRONG");
  const char* before = getenv("OPENCL_BEFORE");
  if (before && count == 1 && sizes) {
    const char* both[] = {before, texts[0]};
    const size_t both_sizes[] = {strlen(before), sizes[0]};
    return next_clCreateProgramWithSource(context, 2, both, both_sizes, error);
  }
  if (!word || count != 1 || !strstr(texts[0], word))
    return next_clCreateProgramWithSource(context, count, texts, sizes, error);
  size_t size = sizes && sizes[0] ? sizes[0] : strlen(texts[0]);
  char* copy = calloc(size + 1, 1);
  memcpy(copy, texts[0], size);
  char* sum = NULL;
  for (char* next = copy; (next = strstr(next, " += ")) != NULL; ++next) sum = next;
  if (sum) sum[1] = '-';
  const char* text = copy;
  Handle program = next_clCreateProgramWithSource(context, 1, &text, &size, error);
  free(copy);
  return program;
}

WRAP(Handle, clCreateBuffer,
     (Handle context, unsigned long long flags, size_t size, void* memory, int* error)) {
  enum { kUseHostMemory = 1 << 3, kCopyHostMemory = 1 << 5 };
  const char* constant = getenv("OPENCL_WRONG_CONSTANT");
  if (!constant || !(flags & (kUseHostMemory | kCopyHostMemory)))
    return next_clCreateBuffer(context, flags, size, memory, error);
  const float number = (float)atof(constant);
  float* copy = malloc(size);
  memcpy(copy, memory, size);
  int found = 0;
  for (size_t i = 0; i < size / sizeof number; ++i) {
    if (copy[i] != number) continue;
    copy[i] += 3.0f;
    found = 1;
  }
  if (found) flags = (flags & ~(unsigned long long)kUseHostMemory) | kCopyHostMemory;
  Handle buffer = next_clCreateBuffer(context, flags, size, found ? copy : memory, error);
  free(copy);
  return buffer;
}

#define HOOK(name) {#name, (void*)name, (void**)&next_##name}
static const struct {
  const char* name;
  void* function;
  void** next;
} kHooks[] = {HOOK(clFinish),
              HOOK(clWaitForEvents),
              HOOK(clEnqueueNDRangeKernel),
              HOOK(clEnqueueReadBuffer),
              HOOK(clCreateProgramWithSource),
              HOOK(clCreateBuffer)};

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
