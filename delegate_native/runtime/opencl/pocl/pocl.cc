// PoCL, whose devices are processors of the host.
#include "delegate_native/runtime/opencl/cl_host_device.h"
#include "delegate_native/runtime/opencl/pocl/cl_common_entry.h"
#include "delegate_native/runtime/opencl/pocl/cl_parts.h"
#include "delegate_native/runtime/opencl/pocl/cl_shared_memory.h"
#include "delegate_native/runtime/opencl/pocl/cl_threads.h"

namespace quadra {
namespace {

class Pocl : public ClHostDevice {
 public:
  explicit Pocl(ClContext* context) : context_(*context), threads_(MakeClThreads(*context)) {}

  std::unique_ptr<ClLauncher> MakeLauncher() override {
    if (!threads_) return nullptr;
    return std::make_unique<ClPartsLauncher>(&context_, threads_.get());
  }
  std::unique_ptr<ClHostMemory> MakeMemory() override {
    if (!context_.info.shares_host_memory) return nullptr;
    return std::make_unique<ClSharedMemory>(&context_);
  }
  std::unique_ptr<const ClCommonEntry> MakeEntry(
      const std::vector<const fb::Kernel*>& kernels) override {
    return MakeCommonEntry(kernels);
  }

 private:
  ClContext& context_;
  const std::unique_ptr<ClThreads> threads_;
};

}  // namespace

std::unique_ptr<ClHostDevice> MakeClHostDevice(ClContext* context) {
  return std::make_unique<Pocl>(context);
}

}  // namespace quadra
