// The OpenCL library: opened at run time, every function that is used in one table.
#ifndef QUADRA_RUNTIME_OPENCL_CL_API_H_
#define QUADRA_RUNTIME_OPENCL_CL_API_H_

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // clCreateCommandQueue: the one that every version has
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <string>

#include "delegate_native/base/status.h"

namespace quadra {

// Nothing newer than OpenCL 1.2; the library must have them.
#define QUADRA_CL_FUNCTIONS(F)  \
  F(BuildProgram)               \
  F(CreateBuffer)               \
  F(CreateCommandQueue)         \
  F(CreateContext)              \
  F(CreateImage)                \
  F(CreateKernel)               \
  F(CreateProgramWithBinary)    \
  F(CreateProgramWithSource)    \
  F(CreateSubBuffer)            \
  F(EnqueueBarrierWithWaitList) \
  F(EnqueueCopyBuffer)          \
  F(EnqueueMapBuffer)           \
  F(EnqueueNDRangeKernel)       \
  F(EnqueueReadBuffer)          \
  F(EnqueueUnmapMemObject)      \
  F(EnqueueWriteBuffer)         \
  F(Finish)                     \
  F(Flush)                      \
  F(GetContextInfo)             \
  F(GetDeviceIDs)               \
  F(GetDeviceInfo)              \
  F(GetEventInfo)               \
  F(GetEventProfilingInfo)      \
  F(GetKernelWorkGroupInfo)     \
  F(GetMemObjectInfo)           \
  F(GetPlatformIDs)             \
  F(GetProgramBuildInfo)        \
  F(GetProgramInfo)             \
  F(ReleaseCommandQueue)        \
  F(ReleaseContext)             \
  F(ReleaseEvent)               \
  F(ReleaseKernel)              \
  F(ReleaseMemObject)           \
  F(ReleaseProgram)             \
  F(RetainContext)              \
  F(SetKernelArg)

struct ClApi {
#define QUADRA_CL_FIELD(name) decltype(&::cl##name) name = nullptr;
  QUADRA_CL_FUNCTIONS(QUADRA_CL_FIELD)
#undef QUADRA_CL_FIELD
  // Null where the library lacks them: for what it has extensions for.
  decltype(&::clCreateBufferWithProperties) CreateBufferWithProperties = nullptr;
  decltype(&::clGetExtensionFunctionAddressForPlatform) GetExtensionFunctionAddressForPlatform =
      nullptr;
};

// `library`: a path, or empty for the usual names. The library stays open for good: drivers do not
// take being closed well.
Status LoadClApi(const std::string& library, ClApi* api);

std::string ClErrorName(cl_int code);
// Whether an error may mean that the device or its context is lost. Drivers have no code of their
// own for that, and nothing is lost by being wrong but the time of making a context anew.
bool MayBeLost(cl_int code);
// Says what was tried, what came back (the error's name; of a call that gave nothing, that it left
// no error), what to do next (null: what fits the code).
Status ClFailed(const char* tried, cl_int code, const char* next = nullptr);

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_CL_API_H_
