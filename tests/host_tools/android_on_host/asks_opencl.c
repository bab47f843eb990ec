// A program that asks its OpenCL for what a phone's programs ask: what comes back is printed, a
// line for each question. With the word `device` it stops behind the device.
#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

static const char kText[] =
    "__kernel void twice(__global float* x, int4 n, __local float* shared, "
    "__write_only image2d_t y) {}\n";

int main(int count, char** words) {
  cl_platform_id platform;
  cl_uint found = 9;
  const cl_int result = clGetPlatformIDs(1, &platform, &found);
  printf("platforms %d %u\n", result, found);
  if (result) return 0;
  cl_device_id device;
  printf("cpus %d\n", clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, NULL));
  printf("gpus %d\n", clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
  char name[256] = "", small[4];
  size_t needed = 0, sizes[3] = {0};
  cl_ulong memory = 0;
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, &needed);
  printf("name %s %zu\n", name, needed);
  printf("too small %d\n", clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof small, small, NULL));
  clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL);
  clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof memory, &memory, NULL);
  printf("sizes %zu %zu %zu %llu\n", sizes[0], sizes[1], sizes[2], (unsigned long long)memory);
  printf("unknown %d\n", clGetDeviceInfo(device, 0x7777, sizeof memory, &memory, NULL));
  if (count > 1 && !strcmp(words[1], "device")) return 0;

  cl_int error = 7;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  float content[16] = {1.0f};
  cl_mem filled = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof content, content, &error);
  cl_mem arena = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &error);
  const cl_buffer_region region = {1024, 2048}, beyond = {4000, 200};
  cl_mem part = clCreateSubBuffer(arena, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  clCreateSubBuffer(arena, 0, CL_BUFFER_CREATE_TYPE_REGION, &beyond, &error);
  printf("beyond %d\n", error);
  const cl_image_format format = {CL_RGBA, CL_HALF_FLOAT};
  const cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                               .image_width = 5,
                               .image_height = 7,
                               .image_depth = 99,
                               .image_array_size = 99,
                               .image_row_pitch = 64,
                               .mem_object = part};
  cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &error);

  const char* texts[] = {kText, "// more"};
  cl_program program = clCreateProgramWithSource(context, 2, texts, NULL, &error);
  printf("build %d\n", clBuildProgram(program, 1, &device, "-cl-std=CL2.0 -DX=1", NULL, NULL));
  clCreateKernel(program, "thrice", &error);
  printf("no such kernel %d\n", error);
  cl_kernel kernel = clCreateKernel(program, "twice", &error);
  const cl_int numbers[4] = {1, 2, 3, -1};
  clSetKernelArg(kernel, 0, sizeof filled, &filled);
  clSetKernelArg(kernel, 1, sizeof numbers, numbers);
  clSetKernelArg(kernel, 2, 512, NULL);
  clSetKernelArg(kernel, 3, sizeof image, &image);
  const size_t global[2] = {30, 4}, local[2] = {16, 4}, offset[2] = {0, 1};
  cl_event event;
  printf("launch %d\n",
         clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, &event));
  printf("offset %d\n",
         clEnqueueNDRangeKernel(queue, kernel, 2, offset, global, local, 0, NULL, NULL));
  cl_ulong time = 0;
  printf("time %d\n", clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, 8, &time, NULL));
  printf("copy %d\n", clEnqueueCopyBuffer(queue, filled, arena, 0, 0, 64, 0, NULL, NULL));
  clEnqueueReadBuffer(queue, filled, CL_TRUE, 0, sizeof content, content, 0, NULL, NULL);
  printf("read %g\n", content[0]);
  clReleaseMemObject(image);
  return 0;
}
