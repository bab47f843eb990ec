// How a device is used that is the host's own processor: what pocl/ implements. Elsewhere there is
// none of it, and libraries for phones are built with without_pocl.cc in its place.
#ifndef QUADRA_RUNTIME_OPENCL_CL_HOST_DEVICE_H_
#define QUADRA_RUNTIME_OPENCL_CL_HOST_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "delegate_native/plan/plan_generated.h"
#include "delegate_native/runtime/opencl/cl_context.h"
#include "delegate_native/runtime/ports.h"

namespace quadra {

// A kernel with its arguments set, and its grid.
struct ClLaunch {
  ClHandle<cl_kernel> kernel;
  const char* name;  // of its dispatch
  size_t global[3], local[3];
};

// Launches an executable's kernels in other ways than one after the other.
class ClLauncher {
 public:
  virtual ~ClLauncher() = default;
  // Where the first work-item of each launch is.
  virtual const size_t* origin() const = 0;
  // All of an inference, after what is in the queue.
  virtual Status LaunchAll(const std::vector<ClLaunch>& launches, cl_command_queue queue) = 0;
};

// Memory of the host that an executable's kernels work on.
class ClHostMemory {
 public:
  virtual ~ClHostMemory() = default;
  // Where a buffer is to be: `memory` has a constant's numbers, or is null.
  virtual void Choose(size_t bytes, void** memory, cl_mem_flags* flags) = 0;
  virtual bool shares_constants() const = 0;
  // A buffer over the caller's memory for a port, until there is another for the port or UnwrapAll.
  virtual Status Wrap(const PlanPort& port, void* callers, cl_mem* made) = 0;
  virtual void UnwrapAll() = 0;
};

// An entry point through which all kernels of a program are launched.
class ClCommonEntry {
 public:
  virtual ~ClCommonEntry() = default;
  virtual const char* name() const = 0;
  // Text that is compiled behind the kernels.
  virtual const std::string& source() const = 0;
  // The dispatch's buffers are the arguments from 1 on, in their order; this sets the others.
  virtual Status SetNumbers(ClContext* context, const fb::Dispatch& dispatch,
                            cl_kernel kernel) const = 0;
};

class ClHostDevice {
 public:
  virtual ~ClHostDevice() = default;
  // Null: kernels are launched one after the other.
  virtual std::unique_ptr<ClLauncher> MakeLauncher() = 0;
  // Null: the device has memory of its own.
  virtual std::unique_ptr<ClHostMemory> MakeMemory() = 0;
  // Null: each has an entry point of its own.
  virtual std::unique_ptr<const ClCommonEntry> MakeEntry(
      const std::vector<const fb::Kernel*>& kernels) = 0;
};

std::unique_ptr<ClHostDevice> MakeClHostDevice(ClContext* context);

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_CL_HOST_DEVICE_H_
