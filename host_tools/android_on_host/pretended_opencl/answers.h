// What a pretended phone says of itself: the answers are read from the file that
// PRETENDED_OPENCL_PHONE names, the forms of the answers are OpenCL's.
#ifndef QUADRA_ANSWERS_H_
#define QUADRA_ANSWERS_H_
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostSaid = 1 << 16 };

typedef enum { kText, kUint, kUlong, kSize, kSizes } Form;

typedef struct {
  cl_uint query;
  const char* name;
  Form form;
} Query;

#define QUERY(name, form) {name, #name, form}

static const Query kPlatformQueries[] = {
    QUERY(CL_PLATFORM_NAME, kText), QUERY(CL_PLATFORM_VENDOR, kText),
    QUERY(CL_PLATFORM_VERSION, kText), QUERY(CL_PLATFORM_PROFILE, kText),
    QUERY(CL_PLATFORM_EXTENSIONS, kText)};

static const Query kDeviceQueries[] = {QUERY(CL_DEVICE_NAME, kText),
                                       QUERY(CL_DEVICE_VENDOR, kText),
                                       QUERY(CL_DEVICE_VERSION, kText),
                                       QUERY(CL_DRIVER_VERSION, kText),
                                       QUERY(CL_DEVICE_OPENCL_C_VERSION, kText),
                                       QUERY(CL_DEVICE_EXTENSIONS, kText),
                                       QUERY(CL_DEVICE_PROFILE, kText),
                                       QUERY(CL_DEVICE_TYPE, kUlong),
                                       QUERY(CL_DEVICE_VENDOR_ID, kUint),
                                       QUERY(CL_DEVICE_AVAILABLE, kUint),
                                       QUERY(CL_DEVICE_COMPILER_AVAILABLE, kUint),
                                       QUERY(CL_DEVICE_LINKER_AVAILABLE, kUint),
                                       QUERY(CL_DEVICE_ENDIAN_LITTLE, kUint),
                                       QUERY(CL_DEVICE_HOST_UNIFIED_MEMORY, kUint),
                                       QUERY(CL_DEVICE_ADDRESS_BITS, kUint),
                                       QUERY(CL_DEVICE_MAX_COMPUTE_UNITS, kUint),
                                       QUERY(CL_DEVICE_MAX_CLOCK_FREQUENCY, kUint),
                                       QUERY(CL_DEVICE_MAX_WORK_GROUP_SIZE, kSize),
                                       QUERY(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, kUint),
                                       QUERY(CL_DEVICE_MAX_WORK_ITEM_SIZES, kSizes),
                                       QUERY(CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, kSize),
                                       QUERY(CL_DEVICE_LOCAL_MEM_SIZE, kUlong),
                                       QUERY(CL_DEVICE_LOCAL_MEM_TYPE, kUint),
                                       QUERY(CL_DEVICE_GLOBAL_MEM_SIZE, kUlong),
                                       QUERY(CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, kUint),
                                       QUERY(CL_DEVICE_MAX_MEM_ALLOC_SIZE, kUlong),
                                       QUERY(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, kUlong),
                                       QUERY(CL_DEVICE_MAX_CONSTANT_ARGS, kUint),
                                       QUERY(CL_DEVICE_MAX_PARAMETER_SIZE, kSize),
                                       QUERY(CL_DEVICE_MEM_BASE_ADDR_ALIGN, kUint),
                                       QUERY(CL_DEVICE_IMAGE_SUPPORT, kUint),
                                       QUERY(CL_DEVICE_IMAGE2D_MAX_WIDTH, kSize),
                                       QUERY(CL_DEVICE_IMAGE2D_MAX_HEIGHT, kSize),
                                       QUERY(CL_DEVICE_IMAGE3D_MAX_WIDTH, kSize),
                                       QUERY(CL_DEVICE_IMAGE3D_MAX_HEIGHT, kSize),
                                       QUERY(CL_DEVICE_IMAGE3D_MAX_DEPTH, kSize),
                                       QUERY(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, kSize),
                                       QUERY(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, kSize),
                                       QUERY(CL_DEVICE_IMAGE_PITCH_ALIGNMENT, kUint),
                                       QUERY(CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT, kUint),
                                       QUERY(CL_DEVICE_MAX_READ_IMAGE_ARGS, kUint),
                                       QUERY(CL_DEVICE_MAX_WRITE_IMAGE_ARGS, kUint),
                                       QUERY(CL_DEVICE_MAX_SAMPLERS, kUint),
                                       QUERY(CL_DEVICE_SINGLE_FP_CONFIG, kUlong),
                                       QUERY(CL_DEVICE_HALF_FP_CONFIG, kUlong),
                                       QUERY(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, kUint),
                                       QUERY(CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, kUint)};

static const Query kKernelQueries[] = {QUERY(CL_KERNEL_WORK_GROUP_SIZE, kSize),
                                       QUERY(CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, kSize),
                                       QUERY(CL_KERNEL_LOCAL_MEM_SIZE, kUlong),
                                       QUERY(CL_KERNEL_PRIVATE_MEM_SIZE, kUlong)};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char* said;  // the whole file, whose first character is a line's end

static void read_said(void) {
  const char* path = getenv("PRETENDED_OPENCL_PHONE");
  FILE* file = path ? fopen(path, "rb") : NULL;
  if (!file) return;
  size_t size = 0, more;
  char* text = calloc(1, kMostSaid);
  if (!text) abort();
  text[size++] = '\n';
  while ((more = fread(text + size, 1, kMostSaid - 1 - size, file)) > 0) size += more;
  fclose(file);
  said = text;
}

// 0: the phone is not described.
static int is_described(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_said);
  return said != NULL;
}

// What stands behind the name, and its length; NULL: nothing does.
static const char* said_of(const char* name, size_t* length) {
  const size_t size = strlen(name);
  for (const char* at = is_described() ? said : NULL; at; at = strchr(at + 1, '\n')) {
    if (strncmp(at + 1, name, size) || at[1 + size] != ' ') continue;
    const char* begin = at + size + 2;
    *length = strcspn(begin, "\n");
    return begin;
  }
  return NULL;
}

static cl_int give(const void* from, size_t bytes, size_t size, void* value, size_t* needed) {
  if (needed) *needed = bytes;
  if (value && size < bytes) return CL_INVALID_VALUE;
  if (value) memcpy(value, from, bytes);
  return CL_SUCCESS;
}

static cl_int give_number(cl_ulong number, size_t bytes, size_t size, void* value, size_t* needed) {
  return give(&number, bytes, size, value,
              needed);  // this machine's least significant byte is first
}

static cl_int give_text(const char* text, size_t length, size_t size, void* value, size_t* needed) {
  if (needed) *needed = length + 1;
  if (value && size <= length) return CL_INVALID_VALUE;
  if (value) {
    memcpy(value, text, length);
    ((char*)value)[length] = 0;
  }
  return CL_SUCCESS;
}

static cl_int give_said(Form form, const char* text, size_t length, size_t size, void* value,
                        size_t* needed) {
  char* end = (char*)text;
  size_t sizes[3] = {0};
  switch (form) {
    case kText: return give_text(text, length, size, value, needed);
    case kUint: return give_number(strtoull(text, NULL, 0), sizeof(cl_uint), size, value, needed);
    case kUlong: return give_number(strtoull(text, NULL, 0), sizeof(cl_ulong), size, value, needed);
    case kSize: return give_number(strtoull(text, NULL, 0), sizeof(size_t), size, value, needed);
    case kSizes:
      for (int i = 0; i < 3; ++i) sizes[i] = strtoull(end, &end, 0);
      return give(sizes, sizeof sizes, size, value, needed);
  }
  return CL_INVALID_VALUE;
}

#endif  // QUADRA_ANSWERS_H_
