// A plan on an OpenCL device: its kernels with their arguments set, its queue.
#ifndef QUADRA_RUNTIME_OPENCL_CL_EXECUTABLE_H_
#define QUADRA_RUNTIME_OPENCL_CL_EXECUTABLE_H_

#include <memory>
#include <vector>

#include "delegate_native/runtime/backend.h"
#include "delegate_native/runtime/fork_guard.h"
#include "delegate_native/runtime/opencl/cl_context.h"
#include "delegate_native/runtime/opencl/cl_host_device.h"
#include "delegate_native/runtime/opencl/cl_plan_memory.h"
#include "delegate_native/runtime/opencl/cl_programs.h"

namespace quadra {

class ClExecutable : public Executable {
 public:
  ClExecutable(std::shared_ptr<ClContext> context, const fb::Plan* plan)
      : context_(std::move(context)),
        cl_(context_->api),
        plan_(*plan),
        memory_(context_.get(), *plan) {}

  // In this order.
  Status MakeMemory(const PlanWeights& weights, Refusal* refusal);
  Status MakeKernels(ClKernelPrograms programs, std::shared_ptr<const ClPrograms> made_by,
                     Refusal* refusal);
  // In the place of MakeKernels, where some programs did not compile.
  Refusal FindRefused(const ClKernelPrograms& programs, const ClPrograms& made_by) const;

  Status LaunchFirst(int* launched, Refusal* refusal) override;
  Status Run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
             RunTimes* times) override;
  Status Bind(const PortObjects& objects) override {
    QUADRA_RETURN_IF_ERROR(home_.Check("OpenCL"));
    return memory_.Bind(objects);
  }
  bool can_start(const Events& events) const override { return !events.gives_fence; }
  Status Await(const Events& events, bool on_device) override;
  Status Start(Events* events) override;
  CopiedBytes copied_bytes() const override { return memory_.copied_bytes(); }
  float Time(unsigned dispatch, const Group& group) override;
  bool shares_constants() const override { return memory_.shares_constants(); }
  std::vector<ProgramBinary> Binaries() override;

 private:
  Status MakeQueue(cl_command_queue_properties properties, ClHandle<cl_command_queue>* queue);
  // `group`: the word of it in the text.
  Status Compile(const ClPrograms& made_by, const fb::Dispatch& dispatch, const std::string& group,
                 ClHandle<cl_program>* program) const;
  Status MakeLaunch(const fb::Dispatch& dispatch, const ClBuiltProgram& built);
  Status CheckGroup(unsigned dispatch, Refusal* refusal) const;
  Status MakeTimed(unsigned dispatch);
  Status LaunchKernels(int* launched, Refusal* refusal);
  size_t MostItems(cl_kernel kernel) const;
  Status SetArg(const fb::Dispatch& dispatch, cl_kernel kernel, cl_uint index, const fb::Arg& arg);
  cl_int StateOf(cl_event event, int deadline_ms);
  Status Waited(const char* what, cl_int state, int deadline_ms);
  bool IsOurs(cl_event event) const;
  Status Launches(size_t first, size_t count, cl_command_queue queue,
                  std::vector<ClHandle<cl_event>>* events);
  Status LaunchAll();
  Status ReadCopy(const fb::Tensor& from, void* to) override;
  Status Profile(size_t first, size_t count, RunTimes* times);

  const ForkGuard home_;
  std::shared_ptr<ClContext> context_;
  const ClApi& cl_;
  const fb::Plan& plan_;
  ClKernelPrograms programs_;
  std::shared_ptr<const ClPrograms> made_by_;
  ClPlanMemory memory_;
  std::unique_ptr<ClLauncher> launcher_;
  std::vector<ClLaunch> launches_;  // parallel to plan.dispatches
  ClHandle<cl_command_queue> queue_, profiling_queue_;
  std::vector<cl_event> before_;  // the inputs' that the device waits for; their owners hold them
  ClHandle<cl_event> going_;   // of the end of what Start began last; none once it was waited for
  ClHandle<cl_kernel> timed_;  // of the last Time
  unsigned timed_dispatch_ = 0;
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_CL_EXECUTABLE_H_
