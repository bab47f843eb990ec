#include "delegate_native/runtime/opencl/pocl/cl_shared_memory.h"

#include <cstdint>

namespace quadra {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;  // smaller memory has room for none

// Memory that kernels address with vectors of any width.
bool IsAligned(const void* memory) { return reinterpret_cast<uintptr_t>(memory) % 64 == 0; }

}  // namespace

// Zeros, in huge pages where the system has them: in small ones, which the driver takes, a second
// start of DeepLab v3 (29 MB) spends 10 of its 62 ms on page faults. Null: no memory is left.
void* ClSharedMemory::MakeHugePages(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  madvise(pages, bytes, MADV_HUGEPAGE);  // an error: the system has small ones only
  pages_.emplace_back(pages, Unmap{bytes});
  return pages;
}

void ClSharedMemory::Choose(size_t bytes, void** memory, cl_mem_flags* flags) {
  if (*memory) {
    if (!IsAligned(*memory)) return;
    *flags = CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR;
    shares_constants_ = true;
  } else if (bytes >= kHugePage) {
    *memory = MakeHugePages(bytes);
    if (*memory) *flags |= CL_MEM_USE_HOST_PTR;
  }
}

// TFLite's tensors stay where they are, so this makes something in the first inference only.
Status ClSharedMemory::Wrap(const PlanPort& port, void* callers, cl_mem* made) {
  Wrapped& wrapped = wrapped_[port.buffer];
  if (wrapped.callers != callers) {
    cl_int code = CL_SUCCESS;
    cl_mem raw =
        context_.api.CreateBuffer(context_.context.get(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                  port.bytes, callers, &code);
    if (!raw || code != CL_SUCCESS) {
      return context_.Failed("make a buffer over the caller's memory", code);
    }
    wrapped.buffer = ClHandle<cl_mem>(raw, context_.api.ReleaseMemObject);
    wrapped.callers = callers;
  }
  *made = wrapped.buffer.get();
  return Status();
}

}  // namespace quadra
