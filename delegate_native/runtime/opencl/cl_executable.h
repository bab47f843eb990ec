// A plan on an OpenCL device: its memory, its kernels with their arguments set, its queue.
#ifndef QUADRA_RUNTIME_OPENCL_CL_EXECUTABLE_H_
#define QUADRA_RUNTIME_OPENCL_CL_EXECUTABLE_H_

#include <sys/mman.h>

#include <memory>
#include <vector>

#include "delegate_native/base/cpu_shapes.h"
#include "delegate_native/base/home_process.h"
#include "delegate_native/runtime/backend.h"
#include "delegate_native/runtime/opencl/cl_context.h"
#include "delegate_native/runtime/opencl/cl_programs.h"

namespace quadra {

class ClExecutable : public Executable {
 public:
  ClExecutable(std::shared_ptr<ClContext> context, const fb::Plan* plan)
      : context_(std::move(context)), cl_(context_->api), plan_(*plan) {}
  ~ClExecutable() override;

  // In this order.
  Status MakeMemory();
  Status MakeKernels(ClKernelPrograms programs, std::shared_ptr<const ClPrograms> made_by,
                     Refusal* refusal);
  // In the place of MakeKernels, where some programs did not compile.
  Refusal FindRefused(const ClKernelPrograms& programs, const ClPrograms& made_by) const;

  Status LaunchFirst(int* launched, Refusal* refusal) override;
  Status Run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
             RunTimes* times) override;
  Status Bind(const std::vector<void*>& objects) override;
  bool can_start(const Events& events) const override { return !events.gives_fence; }
  Status Await(const Events& events, bool on_device) override;
  Status Start(Events* events) override;
  int64_t copied_bytes() const override;
  float Time(unsigned dispatch, const Group& group) override;
  bool shares_constants() const override { return shares_constants_; }
  std::vector<ProgramBinary> Binaries() override;

 private:
  // An input or output of the plan.
  struct Port {
    int buffer = 0;
    size_t offset = 0, bytes = 0;
    bool is_own = false;         // its buffer serves no other tensor
    bool shares = false;         // see in_place()
    cl_mem bound = nullptr;      // the caller's buffer, which they work on instead
    void* caller = nullptr;      // that memory,
    ClHandle<cl_mem> in_caller;  // and the buffer over it

    // Whether kernels work on the caller's memory, which only CPUs' drivers can.
    bool in_place() const { return kHasCpuShapes && shares; }
  };
  struct Launch {
    ClHandle<cl_kernel> kernel;
    size_t global[3], local[3];
    bool is_short = false;  // a second thread would take more time than it saves
  };
  struct Unmap {
    size_t bytes;
    void operator()(void* pages) const { munmap(pages, bytes); }
  };
  // A kernel's argument that is the buffer of a port of its own.
  struct Use {
    int buffer;
    cl_kernel kernel;
    cl_uint arg;
  };

  Status MakeQueue(cl_command_queue_properties properties, ClHandle<cl_command_queue>* queue);
  Port MakePort(const fb::Io& io) const;
  void MakePorts();
  void* MakeHugePages(size_t bytes);
  Status MakeBuffer(const fb::Buffer& buffer, ClHandle<cl_mem>* memory);
  Status MakeImage(const fb::Buffer& buffer, ClHandle<cl_mem>* memory);
  Status MakePart(const fb::Region& region, ClHandle<cl_mem>* part);
  // `group`: the word of it in the text.
  Status Compile(const ClPrograms& made_by, const fb::Dispatch& dispatch, const std::string& group,
                 ClHandle<cl_program>* program) const;
  Status MakeLaunch(const fb::Dispatch& dispatch, const ClBuiltProgram& built);
  Status CheckGroup(unsigned dispatch, Refusal* refusal) const;
  Status MakeTimed(unsigned dispatch);
  Status MakeScratch(Port* port);
  Status LaunchKernels(int* launched, Refusal* refusal);
  size_t MostItems(cl_kernel kernel) const;
  Status SetCommonArgs(const fb::Dispatch& dispatch, const ClCommonEntry& common, cl_kernel kernel);
  Status SetArg(const fb::Dispatch& dispatch, cl_kernel kernel, cl_uint index, const fb::Arg& arg);
  const Port* OwnerOf(int buffer) const;
  Status Leave(Port* port);
  Status Point(const Port& port, cl_mem memory);
  Status CheckBound(const Port& port, cl_mem memory) const;
  Status WorkOn(Port* port, void* caller);
  bool IsExternal(cl_mem memory) const;
  Status Exchange(ClContext::Exchange function, const char* tried);
  cl_int StateOf(cl_event event, int deadline_ms);
  Status Waited(const char* what, cl_int state, int deadline_ms);
  bool IsOurs(cl_event event) const;
  Status Begin(const std::vector<const void*>& inputs, const std::vector<void*>& outputs);
  Status Launches(size_t first, size_t count, cl_command_queue queue,
                  std::vector<ClHandle<cl_event>>* events);
  Status LaunchAll();
  Status LaunchInThreads(ClThreads* threads);
  Status FindShortLaunches();
  Status LaunchPart(const Launch& launch, size_t part, size_t parts, cl_command_queue queue);
  Status LaunchGroups(const Launch& launch, unsigned axis, size_t first, size_t count,
                      cl_command_queue queue);
  Status Read(int buffer, size_t offset, size_t bytes, cl_bool waits, void* to);
  Status ReadCopy(const fb::Tensor& from, void* to) override;
  Status Profile(size_t first, size_t count, RunTimes* times);
  Status End(const std::vector<void*>& outputs);

  const HomeProcess home_;
  std::shared_ptr<ClContext> context_;
  const ClApi& cl_;
  const fb::Plan& plan_;
  ClKernelPrograms programs_;
  std::shared_ptr<const ClPrograms> made_by_;
  // The memory of large buffers, which are released before it.
  std::vector<std::unique_ptr<void, Unmap>> pages_;
  std::vector<ClHandle<cl_mem>> buffers_;  // parallel to plan.buffers; none for those in place
  std::vector<ClHandle<cl_mem>> parts_;    // parallel to plan.regions; none for a whole buffer
  std::vector<Port> inputs_, outputs_;
  std::vector<Launch> launches_;  // parallel to plan.dispatches
  std::vector<Use> uses_;
  bool shares_constants_ = false;
  int whole_runs_ = 0;  // without threads, before there are any
  ClHandle<cl_command_queue> queue_, profiling_queue_;
  std::vector<cl_mem> external_;  // bound; acquired before an inference, and released after
  std::vector<cl_event> before_;  // the inputs' that the device waits for; their owners hold them
  ClHandle<cl_event> going_;   // of the end of what Start began last; none once it was waited for
  ClHandle<cl_kernel> timed_;  // of the last Time
  unsigned timed_dispatch_ = 0;
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_OPENCL_CL_EXECUTABLE_H_
