// OpenCL, loaded at run time.
#ifndef QUADRA_RUNTIME_OPENCL_OPENCL_BACKEND_H_
#define QUADRA_RUNTIME_OPENCL_OPENCL_BACKEND_H_

#include <memory>
#include <string>

#include "delegate_native/runtime/backend.h"

namespace quadra {

// Opens the OpenCL library (`library`, or the usual names when empty) and its best device: a GPU
// if there is one, else an accelerator or CPU. In an OpenCL context of `shared` where there is one.
Status MakeOpenClBackend(const std::string& library, const Contexts& shared,
                         std::shared_ptr<Backend>* backend);

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_OPENCL_BACKEND_H_
