// Memory of the system as OpenCL buffers, without a copy, where the driver has an extension for it.
#ifndef QUADRA_RUNTIME_OPENCL_CL_IMPORT_H_
#define QUADRA_RUNTIME_OPENCL_CL_IMPORT_H_

#include <memory>

#include "delegate_native/runtime/opencl/cl_context.h"
#include "delegate_native/runtime/system_memory.h"

namespace quadra {

// See Backend::Import.
Status ImportClMemory(ClContext* context, SystemMemory::Kind kind, void* handle, size_t bytes,
                      std::unique_ptr<SystemMemory>* memory);

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_CL_IMPORT_H_
