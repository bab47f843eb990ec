// One device with its context, shared by everything that runs on it, and the facts about it.
#ifndef QUADRA_RUNTIME_OPENCL_CL_CONTEXT_H_
#define QUADRA_RUNTIME_OPENCL_CL_CONTEXT_H_

#include <atomic>
#include <memory>
#include <utility>

#include "delegate_native/base/status.h"
#include "delegate_native/device/gpu_info.h"
#include "delegate_native/runtime/opencl/cl_api.h"

namespace quadra {

// Owns one reference to an OpenCL object.
template <typename T>
class ClHandle {
 public:
  ClHandle() = default;
  ClHandle(T object, cl_int(CL_API_CALL* release)(T)) : object_(object), release_(release) {}
  ClHandle(ClHandle&& other) noexcept { *this = std::move(other); }
  ClHandle& operator=(ClHandle&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~ClHandle() {
    if (object_) release_(object_);
  }

  T get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T object_ = nullptr;
  cl_int(CL_API_CALL* release_)(T) = nullptr;
};

class ClHostDevice;

struct ClContext {
  ClApi api;
  GpuInfo info;
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  ClHandle<cl_context> context;
  // Functions of extensions; null where the driver lacks them. Memory that cl_khr_external_memory
  // imports is the
  // device's only between the first two.
  using Exchange = decltype(&clEnqueueAcquireExternalMemObjectsKHR);
  Exchange acquire = nullptr, release = nullptr;
  decltype(&clImportMemoryARM) import_arm = nullptr;
  std::unique_ptr<ClHostDevice> host;  // null: nothing is done otherwise
  // Once an error said that it may be: the next interpreter gets a context of its own.
  std::atomic<bool> lost{false};

  // ClFailed, for what happened on this context.
  Status Failed(const char* tried, cl_int code) {
    if (MayBeLost(code)) lost = true;
    return ClFailed(tried, code);
  }
};

// Opens the library and the best device: a GPU if there is one, else an accelerator, else a CPU.
// `given`: a context that there is, whose best device is taken; null: a new one.
Status MakeClContext(const std::string& library, cl_context given,
                     std::shared_ptr<ClContext>* context);

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_CL_CONTEXT_H_
