#include "delegate_native/runtime/opencl/cl_memory.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace quadra {
namespace {

constexpr size_t kAlignment = 64;  // for vectors of any width

class ClMemory : public DeviceMemory {
 public:
  ClMemory(std::shared_ptr<ClContext> context, size_t bytes)
      : context_(std::move(context)), cl_(context_->api), bytes_(bytes) {}

  Status Make(cl_mem existing) {
    cl_int code = CL_SUCCESS;
    cl_command_queue queue =
        cl_.CreateCommandQueue(context_->context.get(), context_->device, 0, &code);
    if (!queue || code != CL_SUCCESS) return context_->Failed("make a command queue", code);
    queue_ = ClHandle<cl_command_queue>(queue, cl_.ReleaseCommandQueue);
    object_ = existing;
    if (existing) return Status();
    in_place_ = context_->info.shares_host_memory;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (in_place_ ? CL_MEM_USE_HOST_PTR : 0);
    object_ = cl_.CreateBuffer(context_->context.get(), flags, bytes_, in_place_ ? View() : nullptr,
                               &code);
    if (!object_ || code != CL_SUCCESS) {
      object_ = nullptr;
      return context_->Failed(Format("make a buffer of %zu bytes", bytes_).c_str(), code);
    }
    own_ = ClHandle<cl_mem>(object_, cl_.ReleaseMemObject);
    return Status();
  }

  void* object() const override { return object_; }

  Status Lock(bool reads, void** host) override {
    *host = View();
    if (in_place_ || !reads) return Status();
    const cl_int code = cl_.EnqueueReadBuffer(queue_.get(), object_, CL_TRUE, 0, bytes_, *host, 0,
                                              nullptr, nullptr);
    return code == CL_SUCCESS ? Status() : context_->Failed("read a buffer", code);
  }

  Status Unlock(bool writes) override {
    if (in_place_ || !writes) return Status();
    const cl_int code = cl_.EnqueueWriteBuffer(queue_.get(), object_, CL_TRUE, 0, bytes_, View(), 0,
                                               nullptr, nullptr);
    return code == CL_SUCCESS ? Status() : context_->Failed("write a buffer", code);
  }

 private:
  // On the host; made when it is first needed.
  void* View() {
    view_.resize(bytes_ + kAlignment);
    const size_t before = -reinterpret_cast<uintptr_t>(view_.data()) & (kAlignment - 1);
    return view_.data() + before;
  }

  std::shared_ptr<ClContext> context_;
  const ClApi& cl_;
  const size_t bytes_;
  bool in_place_ = false;  // the view is the buffer's memory
  std::vector<uint8_t> view_;
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
