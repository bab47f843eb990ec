// OpenCL buffers for callers.
#ifndef QUADRA_RUNTIME_OPENCL_CL_MEMORY_H_
#define QUADRA_RUNTIME_OPENCL_CL_MEMORY_H_

#include <memory>

#include "delegate_native/runtime/backend.h"
#include "delegate_native/runtime/opencl/cl_context.h"

namespace quadra {

// See Backend::MakeMemory.
Status MakeClMemory(std::shared_ptr<ClContext> context, size_t bytes, cl_mem existing,
                    std::unique_ptr<DeviceMemory>* memory);

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_CL_MEMORY_H_
