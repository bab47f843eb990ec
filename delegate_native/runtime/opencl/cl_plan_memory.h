// The memory of a plan on an OpenCL device: its buffers, images and parts of buffers, which of them
// are kernels' arguments, and what of its callers' is in their place.
#ifndef QUADRA_RUNTIME_OPENCL_CL_PLAN_MEMORY_H_
#define QUADRA_RUNTIME_OPENCL_CL_PLAN_MEMORY_H_

#include <memory>
#include <vector>

#include "delegate_native/plan/weights.h"
#include "delegate_native/runtime/opencl/cl_context.h"
#include "delegate_native/runtime/opencl/cl_host_device.h"
#include "delegate_native/runtime/ports.h"
#include "delegate_native/runtime/refusal.h"

namespace quadra {

class ClPlanMemory {
 public:
  ClPlanMemory(ClContext* context, const fb::Plan& plan)
      : context_(*context), cl_(context->api), plan_(plan) {}
  ~ClPlanMemory();

  // `refusal`: whether it may be images over buffers that the driver refuses.
  Status Make(const PlanWeights& weights, Refusal* refusal);
  // The argument is a region; where that is all of a port's own buffer it changes with that.
  cl_int SetArg(cl_kernel kernel, cl_uint index, const fb::Arg& arg);
  // That kernel, of which arguments were set last, goes before any other does.
  void Forget(cl_kernel kernel);

  // Before and after the kernels of an inference. Nothing waits for what is copied. BringStates is
  // a part of Write, and all of it where every port is bound: the lists may be empty then.
  Status BringStates(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                     cl_command_queue queue);
  Status Write(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
               cl_command_queue queue);
  Status Read(const std::vector<void*>& outputs, cl_command_queue queue) const;
  // The tensor that is the beginning of its buffer.
  Status ReadNow(const fb::Tensor& from, cl_command_queue queue, void* to) const;

  Status Bind(const PortObjects& objects);
  Status Acquire(cl_command_queue queue);
  Status Release(cl_command_queue queue);

  CopiedBytes copied_bytes() const { return CopiedBytesOf(ports_); }
  bool shares_constants() const { return host_ && host_->shares_constants(); }

 private:
  // A kernel's argument that is the buffer of a port of its own.
  struct Use {
    unsigned buffer;
    cl_kernel kernel;
    cl_uint arg;
  };

  // A buffer as an image of one row.
  struct Row {
    unsigned buffer;
    fb::View view;
    ClHandle<cl_mem> image;
  };

  // Other plans may have it, too.
  using Memory = std::shared_ptr<ClHandle<cl_mem>>;

  Status MakeBuffer(const fb::Buffer& buffer, const uint8_t* constant, Memory* made);
  Status MakeWeights(const fb::Buffer& buffer, Weights* weights, Memory* made);
  Status MakeImage(const fb::Buffer& buffer, Memory* made);
  Status MakePart(size_t buffer, uint64_t offset, uint64_t bytes, ClHandle<cl_mem>* part);
  cl_int FindRow(unsigned buffer, fb::View view, cl_mem* row);
  cl_mem At(size_t buffer) const { return buffers_[buffer] ? buffers_[buffer]->get() : nullptr; }
  // The memory that kernels work on: the buffer, or an object in its place.
  cl_mem Used(size_t buffer) const { return callers_[buffer] ? callers_[buffer] : At(buffer); }
  bool IsPorts(unsigned buffer) const;
  Status WrapHostMemory(PlanPort* port, void* callers);
  Status SetBuffer(unsigned buffer, cl_mem memory);
  Status Replace(const PlanPort& port, cl_mem memory);
  bool HasParts(unsigned buffer) const;
  Status Measure(cl_mem memory, size_t* bytes) const;
  bool IsExternal(cl_mem memory) const;
  Status Exchange(ClContext::Exchange function, cl_command_queue queue, const char* tried);
  Status Read(unsigned buffer, size_t offset, size_t bytes, cl_command_queue queue, cl_bool waits,
              void* to) const;

  ClContext& context_;
  const ClApi& cl_;
  const fb::Plan& plan_;
  std::unique_ptr<ClHostMemory> host_;
  std::vector<Memory> buffers_;          // parallel to plan.buffers; images keep their parts, too
  std::vector<ClHandle<cl_mem>> parts_;  // parallel to plan.regions; none for a whole buffer
  std::vector<Row> rows_;                // that kernels have as arguments
  Ports<PlanPort> ports_;
  std::vector<cl_mem> callers_;  // parallel to plan.buffers: what is in their place; null: nothing
  std::vector<Use> uses_;
  std::vector<cl_mem> external_;  // bound; acquired before an inference, and released after
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_CL_PLAN_MEMORY_H_
