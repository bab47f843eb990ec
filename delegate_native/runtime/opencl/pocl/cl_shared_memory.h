// Memory that host and device share: kernels work on constants, inputs and outputs where they are.
#ifndef QUADRA_RUNTIME_OPENCL_POCL_CL_SHARED_MEMORY_H_
#define QUADRA_RUNTIME_OPENCL_POCL_CL_SHARED_MEMORY_H_

#include <sys/mman.h>

#include <map>
#include <memory>
#include <vector>

#include "delegate_native/runtime/opencl/cl_host_device.h"

namespace quadra {

class ClSharedMemory : public ClHostMemory {
 public:
  explicit ClSharedMemory(ClContext* context) : context_(*context) {}

  void Choose(size_t bytes, void** memory, cl_mem_flags* flags) override;
  bool shares_constants() const override { return shares_constants_; }
  Status Wrap(const PlanPort& port, void* callers, cl_mem* made) override;
  void UnwrapAll() override { wrapped_.clear(); }

 private:
  struct Unmap {
    size_t bytes;
    void operator()(void* pages) const { munmap(pages, bytes); }
  };
  struct Wrapped {
    void* callers = nullptr;
    ClHandle<cl_mem> buffer;
  };

  void* MakeHugePages(size_t bytes);

  ClContext& context_;
  bool shares_constants_ = false;
  std::vector<std::unique_ptr<void, Unmap>> pages_;
  std::map<unsigned, Wrapped> wrapped_;  // by the plan's buffer
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_POCL_CL_SHARED_MEMORY_H_
