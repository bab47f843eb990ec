// Functions of OpenCL that the pretended library (calls.c) has no answer for: programs
// look all of them up by name, and get a refusal that is written down where they call one. Without
// their parameters, which nobody reads: hence not OpenCL's header.
#include <stddef.h>

int pretended_refused(const char* function);

#define REFUSED(name) \
  int name(void) { return pretended_refused(#name); }
#define NO_OBJECT(name)       \
  void* name(void) {          \
    pretended_refused(#name); \
    return NULL;              \
  }

REFUSED(clCommandNDRangeKernelKHR)
REFUSED(clCompileProgram)
REFUSED(clCreateKernelsInProgram)
REFUSED(clCreateSubDevices)
REFUSED(clEnqueueAcquireEGLObjectsKHR)
REFUSED(clEnqueueAcquireGLObjects)
REFUSED(clEnqueueBarrier)
REFUSED(clEnqueueBarrierWithWaitList)
REFUSED(clEnqueueCommandBufferKHR)
REFUSED(clEnqueueCopyBuffer)
REFUSED(clEnqueueCopyBufferRect)
REFUSED(clEnqueueCopyBufferToImage)
REFUSED(clEnqueueCopyImage)
REFUSED(clEnqueueCopyImageToBuffer)
REFUSED(clEnqueueFillImage)
REFUSED(clEnqueueMarker)
REFUSED(clEnqueueMigrateMemObjects)
REFUSED(clEnqueueNativeKernel)
REFUSED(clEnqueueReadBufferRect)
REFUSED(clEnqueueReleaseEGLObjectsKHR)
REFUSED(clEnqueueReleaseGLObjects)
REFUSED(clEnqueueSVMFree)
REFUSED(clEnqueueSVMMap)
REFUSED(clEnqueueSVMMemFill)
REFUSED(clEnqueueSVMMemcpy)
REFUSED(clEnqueueSVMUnmap)
REFUSED(clEnqueueTask)
REFUSED(clEnqueueWaitForEvents)
REFUSED(clEnqueueWriteBufferRect)
REFUSED(clFinalizeCommandBufferKHR)
REFUSED(clGetCommandBufferInfoKHR)
REFUSED(clGetCommandQueueInfo)
REFUSED(clGetKernelArgInfo)
REFUSED(clGetPipeInfo)
REFUSED(clGetProgramInfo)
REFUSED(clGetSamplerInfo)
REFUSED(clReleaseCommandBufferKHR)
REFUSED(clRetainCommandBufferKHR)
REFUSED(clSVMFree)
REFUSED(clSetKernelArgSVMPointer)
REFUSED(clSetKernelExecInfo)
REFUSED(clSetMemObjectDestructorCallback)
REFUSED(clSetUserEventStatus)
REFUSED(clUnloadCompiler)
REFUSED(clUnloadPlatformCompiler)

NO_OBJECT(clCreateBufferWithProperties)
NO_OBJECT(clCreateCommandBufferKHR)
NO_OBJECT(clCreateContextFromType)
NO_OBJECT(clCreateEventFromEGLSyncKHR)
NO_OBJECT(clCreateFromEGLImageKHR)
NO_OBJECT(clCreateFromGLBuffer)
NO_OBJECT(clCreateFromGLTexture)
NO_OBJECT(clCreateImage2D)
NO_OBJECT(clCreateImage3D)
NO_OBJECT(clCreateImageWithProperties)
NO_OBJECT(clCreatePipe)
NO_OBJECT(clCreateProgramWithBinary)
NO_OBJECT(clCreateProgramWithBuiltInKernels)
NO_OBJECT(clCreateSamplerWithProperties)
NO_OBJECT(clCreateUserEvent)
NO_OBJECT(clEnqueueMapImage)
NO_OBJECT(clLinkProgram)
NO_OBJECT(clSVMAlloc)
