#include "delegate_native/runtime/opencl/cl_memory.h"

#include <utility>

namespace quadra {
namespace {

// The driver's own memory, as the host sees it: no copy where host and device share theirs. It
// stays as long as kernels work on it, whoever has let go of it.
class ClMemory : public DeviceMemory {
 public:
  ClMemory(std::shared_ptr<ClContext> context, size_t bytes)
      : context_(std::move(context)), cl_(context_->api), bytes_(bytes) {}
  ~ClMemory() override {
    if (view_) static_cast<void>(Unlock(false));
  }

  Status Make(cl_mem existing) {
    cl_int code = CL_SUCCESS;
    cl_command_queue queue =
        cl_.CreateCommandQueue(context_->context.get(), context_->device, 0, &code);
    if (!queue || code != CL_SUCCESS) return context_->Failed("make a command queue", code);
    queue_ = ClHandle<cl_command_queue>(queue, cl_.ReleaseCommandQueue);
    object_ = existing;
    if (existing) return Status();
    object_ = cl_.CreateBuffer(context_->context.get(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                               bytes_, nullptr, &code);
    if (!object_ || code != CL_SUCCESS) {
      object_ = nullptr;
      return context_->Failed(TextOf("make a buffer of %zu bytes", bytes_).c_str(), code);
    }
    own_ = ClHandle<cl_mem>(object_, cl_.ReleaseMemObject);
    return Status();
  }

  void* object() const override { return object_; }

  Status Lock(bool reads, void** host) override {
    cl_int code = CL_SUCCESS;
    const cl_map_flags how = reads ? CL_MAP_READ | CL_MAP_WRITE : CL_MAP_WRITE_INVALIDATE_REGION;
    view_ = cl_.EnqueueMapBuffer(queue_.get(), object_, CL_TRUE, how, 0, bytes_, 0, nullptr,
                                 nullptr, &code);
    *host = view_;
    return view_ && code == CL_SUCCESS ? Status() : context_->Failed("map a buffer", code);
  }

  Status Unlock(bool) override {
    cl_int code = cl_.EnqueueUnmapMemObject(queue_.get(), object_, view_, 0, nullptr, nullptr);
    if (code == CL_SUCCESS) code = cl_.Finish(queue_.get());
    view_ = nullptr;
    return code == CL_SUCCESS ? Status() : context_->Failed("unmap a buffer", code);
  }

 private:
  std::shared_ptr<ClContext> context_;
  const ClApi& cl_;
  const size_t bytes_;
  void* view_ = nullptr;
  ClHandle<cl_command_queue> queue_;
  ClHandle<cl_mem> own_;
  cl_mem object_ = nullptr;
};

}  // namespace

Status MakeClMemory(std::shared_ptr<ClContext> context, size_t bytes, cl_mem existing,
                    std::unique_ptr<DeviceMemory>* memory) {
  auto made = std::make_unique<ClMemory>(std::move(context), bytes);
  QUADRA_RETURN_IF_ERROR(made->Make(existing));
  *memory = std::move(made);
  return Status();
}

}  // namespace quadra
