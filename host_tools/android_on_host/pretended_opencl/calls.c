// libOpenCL.so of a phone that is not there: it answers as the phone's would, computes nothing, and
// writes down what it was asked to compute. It is for code that chooses its kernels by the phone.
//
// PRETENDED_OPENCL_PHONE=FILE: what the phone says of itself, a line for each query: its name, a
// space, the answer (host_tools/request/phone.py writes it). Without that file there is no
// platform. PRETENDED_OPENCL_CALLS=FILE: the calls are appended to it, a line for each; a program's
// text follows its line, which tells its size in bytes. Objects have numbers:
//
//   program P SIZE
//   build P OPTIONS
//   kernel K P NAME
//   buffer M BYTES FILLED
//   part M OF BYTES
//   image M BYTES FILLED OF WIDTH HEIGHT DEPTH LAYERS PIXEL_BYTES
//   release M
//   arg K INDEX object M
//   arg K INDEX local BYTES
//   arg K INDEX bytes HEXADECIMAL
//   launch K GLOBAL_X GLOBAL_Y GLOBAL_Z LOCAL_X LOCAL_Y LOCAL_Z
//   host M
//   unknown WHOSE QUERY
//   refused FUNCTION
//
// FILLED is 1 where the caller gave the content, as it does for weights. OF is the object whose
// memory it is, else 0. Local sizes of 0 are the driver's choice. `host`: its memory is copied from
// the host's or to it. What is read back is zeros. Nothing is freed: such a process is short.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define _GNU_SOURCE
#include <CL/cl.h>
#include <stdarg.h>
#include <stdint.h>

#include "answers.h"

enum { kNoPlatform = -1001, kMostArgument = 4096 };

typedef struct Object {
  struct Object* before;  // of all objects
  struct Object* of;      // a kernel's program; the object whose memory this one has
  int id;
  size_t bytes;
  char* text;    // a program's text, a kernel's name
  char* mapped;  // memory of the host
  cl_image_desc shape;
  size_t pixel_bytes;
} Object;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Object *newest, platform, device, event;

static size_t at_least_1(size_t size) { return size ? size : 1; }

// --- What is written down.

__attribute__((format(printf, 1, 2))) static void tell(const char* form, ...) {
  static FILE* file;
  pthread_mutex_lock(&lock);
  const char* path = file ? NULL : getenv("PRETENDED_OPENCL_CALLS");
  if (path) file = fopen(path, "a");
  if (file) {
    va_list values;
    va_start(values, form);
    vfprintf(file, form, values);
    va_end(values);
    fflush(file);  // the process may end without closing files
  }
  pthread_mutex_unlock(&lock);
}

static Object* made(void) {
  static int ids;
  Object* object = calloc(1, sizeof *object);
  if (!object) abort();
  pthread_mutex_lock(&lock);
  object->id = ++ids;
  object->before = newest;
  newest = object;
  pthread_mutex_unlock(&lock);
  return object;
}

static Object* found(const void* pointer) {
  pthread_mutex_lock(&lock);
  Object* one = newest;
  while (one && one != pointer) one = one->before;
  pthread_mutex_unlock(&lock);
  return one;
}

static void* succeed(void* object, cl_int* error) {
  if (error) *error = CL_SUCCESS;
  return object;
}

static void* fail(cl_int why, cl_int* error) {
  if (error) *error = why;
  return NULL;
}

static cl_int end(cl_event* given) {
  if (given) *given = (cl_event)&event;
  return CL_SUCCESS;
}

static cl_int unknown(const char* whose, cl_uint query) {
  tell("unknown %s %#x\n", whose, query);
  return CL_INVALID_VALUE;
}

static cl_int answer(const char* whose, const Query* queries, size_t count, cl_uint query,
                     size_t size, void* value, size_t* needed) {
  for (size_t i = 0; i < count; ++i) {
    size_t length = 0;
    const char* text = queries[i].query == query ? said_of(queries[i].name, &length) : NULL;
    if (text) return give_said(queries[i].form, text, length, size, value, needed);
  }
  return unknown(whose, query);
}

// --- Platform, device, context, queue.

cl_int clGetPlatformIDs(cl_uint size, cl_platform_id* platforms, cl_uint* count) {
  if (count) *count = is_described();
  if (!is_described()) return kNoPlatform;
  if (platforms && size) *platforms = (cl_platform_id)&platform;
  return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id one, cl_platform_info query, size_t size, void* value,
                         size_t* needed) {
  (void)one;
  return answer("platform", kPlatformQueries, COUNT(kPlatformQueries), query, size, value, needed);
}

cl_int clGetDeviceIDs(cl_platform_id one, cl_device_type type, cl_uint size, cl_device_id* devices,
                      cl_uint* count) {
  (void)one;
  const int is_asked = (type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)) != 0;
  if (count) *count = is_asked;
  if (!is_asked) return CL_DEVICE_NOT_FOUND;
  if (devices && size) *devices = (cl_device_id)&device;
  return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id one, cl_device_info query, size_t size, void* value,
                       size_t* needed) {
  const void* pointer = &platform;
  (void)one;
  if (query == CL_DEVICE_PLATFORM) return give(&pointer, sizeof pointer, size, value, needed);
  return answer("device", kDeviceQueries, COUNT(kDeviceQueries), query, size, value, needed);
}

cl_context clCreateContext(const cl_context_properties* properties, cl_uint count,
                           const cl_device_id* devices,
                           void (*tells)(const char*, const void*, size_t, void*), void* user,
                           cl_int* error) {
  (void)properties, (void)count, (void)devices, (void)tells, (void)user;
  return succeed(made(), error);
}

cl_int clGetContextInfo(cl_context context, cl_context_info query, size_t size, void* value,
                        size_t* needed) {
  const void* pointer = &device;
  (void)context;
  if (query == CL_CONTEXT_DEVICES) return give(&pointer, sizeof pointer, size, value, needed);
  if (query == CL_CONTEXT_NUM_DEVICES) return give_number(1, sizeof(cl_uint), size, value, needed);
  return unknown("context", query);
}

cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id one,
                                                    const cl_queue_properties* properties,
                                                    cl_int* error) {
  (void)context, (void)one, (void)properties;
  return succeed(made(), error);
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id one,
                                      cl_command_queue_properties properties, cl_int* error) {
  (void)context, (void)one, (void)properties;
  return succeed(made(), error);
}

// --- Memory.

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void* content,
                      cl_int* error) {
  (void)context, (void)flags;
  Object* buffer = made();
  buffer->bytes = bytes;
  tell("buffer %d %zu %d\n", buffer->id, bytes, content != NULL);
  return succeed(buffer, error);
}

cl_mem clCreateSubBuffer(cl_mem of, cl_mem_flags flags, cl_buffer_create_type type,
                         const void* region, cl_int* error) {
  Object* whole = found(of);
  (void)flags;
  if (!whole || type != CL_BUFFER_CREATE_TYPE_REGION) return fail(CL_INVALID_MEM_OBJECT, error);
  const cl_buffer_region* place = region;
  if (place->origin > whole->bytes || place->size > whole->bytes - place->origin)
    return fail(CL_INVALID_VALUE, error);
  Object* part = made();
  part->bytes = place->size;
  part->of = whole;
  tell("part %d %d %zu\n", part->id, whole->id, part->bytes);
  return succeed(part, error);
}

static size_t bytes_of_pixel(const cl_image_format* format) {
  const cl_uint order = format->image_channel_order, type = format->image_channel_data_type;
  const size_t channels = order == CL_RGBA || order == CL_BGRA ? 4
                          : order == CL_RGB                    ? 3
                          : order == CL_RG                     ? 2
                                                               : 1;
  switch (type) {
    case CL_FLOAT:
    case CL_SIGNED_INT32:
    case CL_UNSIGNED_INT32: return channels * 4;
    case CL_HALF_FLOAT:
    case CL_SIGNED_INT16:
    case CL_UNSIGNED_INT16: return channels * 2;
    default: return channels;
  }
}

cl_mem clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                     const cl_image_desc* shape, void* content, cl_int* error) {
  (void)context, (void)flags;
  Object *image = made(), *of = shape->mem_object ? found(shape->mem_object) : NULL;
  image->shape = *shape;
  image->pixel_bytes = bytes_of_pixel(format);
  image->of = of;
  // Callers leave what an image of their kind does not have as it was.
  const cl_mem_object_type type = shape->image_type;
  const int is_row = type == CL_MEM_OBJECT_IMAGE1D_BUFFER || type == CL_MEM_OBJECT_IMAGE1D;
  const int has_layers = type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
  const size_t width = shape->image_width, height = is_row ? 1 : shape->image_height;
  const size_t depth = type == CL_MEM_OBJECT_IMAGE3D ? shape->image_depth : 1;
  const size_t layers = has_layers ? shape->image_array_size : 1;
  const size_t row = shape->image_row_pitch ? shape->image_row_pitch : width * image->pixel_bytes;
  image->bytes = row * height * depth * layers;
  tell("image %d %zu %d %d %zu %zu %zu %zu %zu\n", image->id, image->bytes, content != NULL,
       of ? of->id : 0, width, height, depth, layers, image->pixel_bytes);
  return succeed(image, error);
}

cl_int clGetSupportedImageFormats(cl_context context, cl_mem_flags flags, cl_mem_object_type type,
                                  cl_uint size, cl_image_format* formats, cl_uint* count) {
  static const cl_uint orders[] = {CL_R, CL_RG, CL_RGBA};
  static const cl_uint types[] = {CL_FLOAT,          CL_HALF_FLOAT,    CL_SIGNED_INT8,
                                  CL_SIGNED_INT16,   CL_SIGNED_INT32,  CL_UNSIGNED_INT8,
                                  CL_UNSIGNED_INT16, CL_UNSIGNED_INT32};
  (void)context, (void)flags, (void)type;
  for (cl_uint i = 0; formats && i < size && i < COUNT(orders) * COUNT(types); ++i)
    formats[i] = (cl_image_format){orders[i / COUNT(types)], types[i % COUNT(types)]};
  if (count) *count = COUNT(orders) * COUNT(types);
  return CL_SUCCESS;
}

cl_int clReleaseMemObject(cl_mem one) {
  const Object* object = found(one);
  if (!object) return CL_INVALID_MEM_OBJECT;
  tell("release %d\n", object->id);
  return CL_SUCCESS;
}

cl_int clGetMemObjectInfo(cl_mem one, cl_mem_info query, size_t size, void* value, size_t* needed) {
  const Object* object = found(one);
  if (!object) return CL_INVALID_MEM_OBJECT;
  if (query == CL_MEM_SIZE) return give_number(object->bytes, sizeof(size_t), size, value, needed);
  return unknown("memory", query);
}

cl_int clGetImageInfo(cl_mem one, cl_image_info query, size_t size, void* value, size_t* needed) {
  const Object* image = found(one);
  if (!image) return CL_INVALID_MEM_OBJECT;
  if (query == CL_IMAGE_WIDTH)
    return give_number(image->shape.image_width, sizeof(size_t), size, value, needed);
  if (query == CL_IMAGE_HEIGHT)
    return give_number(image->shape.image_height, sizeof(size_t), size, value, needed);
  return unknown("image", query);
}

cl_sampler clCreateSampler(cl_context context, cl_bool scaled, cl_addressing_mode beyond,
                           cl_filter_mode filter, cl_int* error) {
  (void)context, (void)scaled, (void)beyond, (void)filter;
  return succeed(made(), error);
}

// --- Programs and kernels.

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char** texts,
                                     const size_t* sizes, cl_int* error) {
  (void)context;
  size_t size = 0;
  for (cl_uint i = 0; i < count; ++i) size += sizes && sizes[i] ? sizes[i] : strlen(texts[i]);
  Object* program = made();
  char* at = program->text = calloc(1, size + 1);
  if (!at) abort();
  for (cl_uint i = 0; i < count; ++i) {
    const size_t part = sizes && sizes[i] ? sizes[i] : strlen(texts[i]);
    at = (char*)memcpy(at, texts[i], part) + part;
  }
  program->bytes = strlen(program->text);
  tell("program %d %zu\n%s\n", program->id, program->bytes, program->text);
  return succeed(program, error);
}

cl_int clBuildProgram(cl_program one, cl_uint count, const cl_device_id* devices,
                      const char* options, void (*then)(cl_program, void*), void* user) {
  const Object* program = found(one);
  (void)count, (void)devices;
  if (!program) return CL_INVALID_PROGRAM;
  tell("build %d %s\n", program->id, options ? options : "");
  if (then) then(one, user);
  return CL_SUCCESS;
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id one, cl_program_build_info query,
                             size_t size, void* value, size_t* needed) {
  (void)program, (void)one;
  if (query == CL_PROGRAM_BUILD_LOG) return give_text("", 0, size, value, needed);
  if (query == CL_PROGRAM_BUILD_STATUS)
    return give_number((cl_uint)CL_BUILD_SUCCESS, sizeof(cl_int), size, value, needed);
  return unknown("build", query);
}

cl_kernel clCreateKernel(cl_program one, const char* name, cl_int* error) {
  Object* program = found(one);
  if (!program || !program->text) return fail(CL_INVALID_PROGRAM, error);
  if (!strstr(program->text, name)) return fail(CL_INVALID_KERNEL_NAME, error);
  Object* kernel = made();
  kernel->of = program;
  kernel->text = strdup(name);
  tell("kernel %d %d %s\n", kernel->id, program->id, name);
  return succeed(kernel, error);
}

cl_int clGetKernelInfo(cl_kernel one, cl_kernel_info query, size_t size, void* value,
                       size_t* needed) {
  const Object* kernel = found(one);
  if (!kernel || !kernel->text) return CL_INVALID_KERNEL;
  if (query == CL_KERNEL_FUNCTION_NAME)
    return give_text(kernel->text, strlen(kernel->text), size, value, needed);
  return unknown("kernel", query);
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id one, cl_kernel_work_group_info query,
                                size_t size, void* value, size_t* needed) {
  (void)kernel, (void)one;
  return answer("kernel", kKernelQueries, COUNT(kKernelQueries), query, size, value, needed);
}

cl_int clSetKernelArg(cl_kernel one, cl_uint index, size_t size, const void* value) {
  const Object* kernel = found(one);
  if (!kernel) return CL_INVALID_KERNEL;
  if (!value) {
    tell("arg %d %u local %zu\n", kernel->id, index, size);
    return CL_SUCCESS;
  }
  if (size > kMostArgument) return CL_INVALID_ARG_SIZE;
  const Object* object = size == sizeof(void*) ? found(*(void* const*)value) : NULL;
  if (object) {
    tell("arg %d %u object %d\n", kernel->id, index, object->id);
    return CL_SUCCESS;
  }
  char digits[2 * kMostArgument + 1] = "";
  for (size_t i = 0; i < size; ++i) sprintf(digits + 2 * i, "%02x", ((const uint8_t*)value)[i]);
  tell("arg %d %u bytes %s\n", kernel->id, index, digits);
  return CL_SUCCESS;
}

// --- Commands. All are done when they return.

cl_int pretended_refused(const char* function);  // also for refused.c

cl_int pretended_refused(const char* function) {
  tell("refused %s\n", function);
  return CL_INVALID_OPERATION;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel one, cl_uint axes,
                              const size_t* offset, const size_t* global, const size_t* local,
                              cl_uint count, const cl_event* before, cl_event* given) {
  const Object* kernel = found(one);
  (void)queue, (void)count, (void)before;
  if (!kernel) return CL_INVALID_KERNEL;
  if (axes < 1 || axes > 3 || !global) return CL_INVALID_WORK_DIMENSION;
  size_t items[3] = {1, 1, 1}, group[3] = {0, 0, 0};
  for (cl_uint i = 0; i < axes; ++i) {
    if (offset && offset[i]) return pretended_refused("clEnqueueNDRangeKernel with an offset");
    items[i] = global[i];
  }
  for (int i = 0; local && i < 3; ++i) group[i] = i < (int)axes ? local[i] : 1;
  tell("launch %d %zu %zu %zu %zu %zu %zu\n", kernel->id, items[0], items[1], items[2], group[0],
       group[1], group[2]);
  return end(given);
}

static cl_int exchange(cl_mem one, cl_event* given) {
  const Object* object = found(one);
  if (!object) return CL_INVALID_MEM_OBJECT;
  tell("host %d\n", object->id);
  return end(given);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem one, cl_bool waits, size_t offset,
                           size_t size, void* values, cl_uint count, const cl_event* before,
                           cl_event* given) {
  (void)queue, (void)waits, (void)offset, (void)count, (void)before;
  memset(values, 0, size);
  return exchange(one, given);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem one, cl_bool waits, size_t offset,
                            size_t size, const void* values, cl_uint count, const cl_event* before,
                            cl_event* given) {
  (void)queue, (void)waits, (void)offset, (void)size, (void)values, (void)count, (void)before;
  return exchange(one, given);
}

cl_int clEnqueueReadImage(cl_command_queue queue, cl_mem one, cl_bool waits, const size_t* origin,
                          const size_t* region, size_t row, size_t slice, void* values,
                          cl_uint count, const cl_event* before, cl_event* given) {
  const Object* image = found(one);
  (void)queue, (void)waits, (void)origin, (void)count, (void)before;
  if (!image || row || slice)
    return pretended_refused("clEnqueueReadImage with rows that are padded");
  memset(values, 0, region[0] * region[1] * region[2] * image->pixel_bytes);
  return exchange(one, given);
}

cl_int clEnqueueWriteImage(cl_command_queue queue, cl_mem one, cl_bool waits, const size_t* origin,
                           const size_t* region, size_t row, size_t slice, const void* values,
                           cl_uint count, const cl_event* before, cl_event* given) {
  (void)queue, (void)waits, (void)origin, (void)region, (void)row, (void)slice, (void)values;
  (void)count, (void)before;
  return exchange(one, given);
}

void* clEnqueueMapBuffer(cl_command_queue queue, cl_mem one, cl_bool waits, cl_map_flags flags,
                         size_t offset, size_t size, cl_uint count, const cl_event* before,
                         cl_event* given, cl_int* error) {
  Object* buffer = found(one);
  (void)queue, (void)waits, (void)flags, (void)count, (void)before;
  if (!buffer) return fail(CL_INVALID_MEM_OBJECT, error);
  if (offset > buffer->bytes || size > buffer->bytes - offset) return fail(CL_INVALID_VALUE, error);
  if (!buffer->mapped) buffer->mapped = calloc(1, at_least_1(buffer->bytes));
  if (!buffer->mapped) return fail(CL_OUT_OF_HOST_MEMORY, error);
  exchange(one, given);
  return succeed(buffer->mapped + offset, error);
}

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem one, void* mapped, cl_uint count,
                               const cl_event* before, cl_event* given) {
  (void)queue, (void)one, (void)mapped, (void)count, (void)before;
  return end(given);
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem one, const void* pattern, size_t length,
                           size_t offset, size_t size, cl_uint count, const cl_event* before,
                           cl_event* given) {
  (void)queue, (void)one, (void)pattern, (void)length, (void)offset, (void)size;
  (void)count, (void)before;
  return end(given);
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event* before,
                                   cl_event* given) {
  (void)queue, (void)count, (void)before;
  return end(given);
}

cl_int clGetEventInfo(cl_event one, cl_event_info query, size_t size, void* value, size_t* needed) {
  (void)one;
  if (query == CL_EVENT_COMMAND_EXECUTION_STATUS)
    return give_number(CL_COMPLETE, sizeof(cl_int), size, value, needed);
  return unknown("event", query);
}

cl_int clGetEventProfilingInfo(cl_event one, cl_profiling_info query, size_t size, void* value,
                               size_t* needed) {
  (void)one, (void)query, (void)size, (void)value, (void)needed;
  return CL_PROFILING_INFO_NOT_AVAILABLE;  // nothing was computed: there is no time
}

cl_int clSetEventCallback(cl_event one, cl_int type, void (*then)(cl_event, cl_int, void*),
                          void* user) {
  (void)type;
  then(one, CL_COMPLETE, user);
  return CL_SUCCESS;
}

void* clGetExtensionFunctionAddress(const char* name) {
  (void)name;
  return NULL;
}

void* clGetExtensionFunctionAddressForPlatform(cl_platform_id one, const char* name) {
  (void)one, (void)name;
  return NULL;
}

// --- Nothing has to be done.

#define NOTHING(name, type) \
  cl_int name(type one) {   \
    (void)one;              \
    return CL_SUCCESS;      \
  }

NOTHING(clFinish, cl_command_queue)
NOTHING(clFlush, cl_command_queue)
NOTHING(clRetainDevice, cl_device_id)
NOTHING(clReleaseDevice, cl_device_id)
NOTHING(clRetainContext, cl_context)
NOTHING(clReleaseContext, cl_context)
NOTHING(clRetainCommandQueue, cl_command_queue)
NOTHING(clReleaseCommandQueue, cl_command_queue)
NOTHING(clRetainMemObject, cl_mem)
NOTHING(clRetainSampler, cl_sampler)
NOTHING(clReleaseSampler, cl_sampler)
NOTHING(clRetainProgram, cl_program)
NOTHING(clReleaseProgram, cl_program)
NOTHING(clRetainKernel, cl_kernel)
NOTHING(clReleaseKernel, cl_kernel)
NOTHING(clRetainEvent, cl_event)
NOTHING(clReleaseEvent, cl_event)

cl_int clWaitForEvents(cl_uint count, const cl_event* events) {
  (void)count, (void)events;
  return CL_SUCCESS;
}
