// The duty of a GPU API: to turn a Plan into something that runs. Narrow on purpose; a backend
// knows nothing of graphs and ops.
#ifndef QUADRA_RUNTIME_BACKEND_H_
#define QUADRA_RUNTIME_BACKEND_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "delegate_native/base/program_binary.h"
#include "delegate_native/base/status.h"
#include "delegate_native/device/gpu_info.h"
#include "delegate_native/plan/dispatch_group.h"
#include "delegate_native/plan/plan_generated.h"
#include "delegate_native/plan/weights.h"
#include "delegate_native/runtime/ports.h"
#include "delegate_native/runtime/refusal.h"
#include "delegate_native/runtime/system_memory.h"

namespace quadra {

// Gets the numbers of plan.tensors[tensor]; floats as their bits.
using TensorObserver = Status (*)(void* who, unsigned tensor, const std::vector<int32_t>& numbers);

// The steps of a measured inference, and when they were: ns of the host's monotonic clock.
struct RunTimes {
  // Begun; inputs written; all dispatches enqueued; all done; outputs read.
  enum { kBegun, kWritten, kEnqueued, kDone, kRead, kMarks };
  int64_t at_ns[kMarks] = {};
  struct Dispatch {
    float us;
    // When it was queued, submitted, started and done, after the first was queued. 0 where the
    // driver measures durations alone.
    int64_t at_ns[4];
  };
  std::vector<Dispatch> dispatches;  // in plan order
};

// Events that an inference on objects of the GPU API comes after, and the one of its end. Events
// are the API's (cl_event, EGLSyncKHR); sync fences are file descriptors, as pointers.
struct Events {
  std::vector<void*> before;
  std::vector<void*> fences;  // likewise
  int deadline_ms = 10000;    // how long the host waits for an event
  bool goes_on = false;       // it may go on when the call returns
  bool gives_fence = false;   // `done` is one
  // The event of its end, as long as the executable begins no other one; null: it has ended.
  void* done = nullptr;
};

// Until a sync fence has come, or the deadline.
Status WaitForFence(void* fence, int deadline_ms);
// That it is none.
Status NoFence(int fd);
// Why an inference fails whose input's event did not come.
Status TooLate(const char* tried, int deadline_ms);

// A plan that was loaded onto a device. One thread at a time.
class Executable {
 public:
  virtual ~Executable() = default;
  // Launches each kernel that no executable has launched yet once: one group of work-items, on the
  // plan's own memory, whatever that holds. Drivers find out then that a kernel needs more
  // registers than there are, and some finish compiling. `launched`: how many. Before the first
  // inference.
  virtual Status LaunchFirst(int* /*launched*/, Refusal*) { return Status(); }
  // One inference: dense floats in and out, as many bytes each as the plan's tensor says, in the
  // plan's order. With `times`: also measures each dispatch.
  virtual Status Run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                     RunTimes* times) = 0;
  // From the next inference on its kernels work on these objects, or on the host's memory as ever.
  // They must stay until others take their place. With none at all, the host's memory of the last
  // inference may go, too.
  virtual Status Bind(const PortObjects& objects) {
    return objects.any() ? Unsupported("this backend takes no buffers of its callers") : Status();
  }
  // Whether inferences can be begun and left to the device, where all inputs and outputs are bound.
  virtual bool can_start(const Events&) const { return false; }
  // The inference that is begun next comes after the events. The device waits for them where it can
  // (`on_device`); else the host does, and for what Start began before.
  virtual Status Await(const Events& events, bool /*on_device*/) {
    return events.before.empty() && events.fences.empty()
               ? Status()
               : Unsupported("this backend takes no events of its callers");
  }
  // Begins an inference; see Events::done.
  virtual Status Start(Events*) { return Unsupported("this backend waits for its kernels"); }
  // By the last inference: from and to the host, and states from one memory to another.
  virtual CopiedBytes copied_bytes() const { return {}; }
  // Microseconds that a dispatch whose group is free takes with another group, on whatever its
  // memory holds after a Run; 0: the driver does not take the group; below: it failed.
  virtual float Time(unsigned, const Group&) { return 0.0f; }
  // From now on each inference that is not measured hands over the plan's copies, each right after
  // its dispatch, in a thread of the backend. `take` gets `who`.
  void ObserveTensors(TensorObserver take, void* who) {
    take_ = take;
    who_ = who;
  }
  // False where an error may have spoiled what it keeps on the device: load the plan anew.
  virtual bool is_intact() const { return true; }
  // Whether it reads the plan's constants where they are: it has no copy of its own.
  virtual bool shares_constants() const { return false; }
  // The plan's programs as the driver compiled them, in the plan's order, each in one or more; none
  // where it gives none.
  virtual std::vector<ProgramBinary> Binaries() { return {}; }

 protected:
  bool observes_tensors() const { return take_ != nullptr; }
  // A backend calls this after each dispatch.
  Status ObserveAfter(size_t dispatch, const fb::Plan& plan) {
    for (unsigned i = 0; take_ && i < plan.tensors()->size(); ++i) {
      const fb::Tensor& tensor = *plan.tensors()->Get(i);
      if (!tensor.copy_of() || tensor.last_use() != static_cast<int>(dispatch)) continue;
      std::vector<int32_t> numbers(tensor.bytes() / 4);
      QUADRA_RETURN_IF_ERROR(ReadCopy(tensor, numbers.data()));
      QUADRA_RETURN_IF_ERROR(take_(who_, i, numbers));
    }
    return Status();
  }
  // Whether Run is given as many as the plan has.
  static Status CheckCounts(const fb::Plan& plan, size_t inputs, size_t outputs) {
    const size_t ins = plan.inputs() ? plan.inputs()->size() : 0;
    const size_t outs = plan.outputs() ? plan.outputs()->size() : 0;
    if (inputs == ins && outputs == outs) return Status();
    return Internal("%zu inputs and %zu outputs for a plan that has %zu and %zu", inputs, outputs,
                    ins, outs);
  }

 private:
  // Waits for what was dispatched, and reads a tensor that is the beginning of its buffer.
  virtual Status ReadCopy(const fb::Tensor&, void*) { return Status(); }

  TensorObserver take_ = nullptr;
  void* who_ = nullptr;
};

// Whether a driver made the binary of this program.
inline bool IsBinaryOf(const fb::ProgramBinary& binary, const fb::Program& program) {
  return binary.fingerprint() == program.fingerprint() && binary.bytes() &&
         binary.bytes()->size() > 0;
}

// The one of program `i`, in a language whose programs have one each; null: it was not kept.
inline const fb::ProgramBinary* KeptBinary(const fb::Plan& plan, unsigned i,
                                           const fb::Binaries* kept) {
  if (!kept || i >= kept->programs()->size()) return nullptr;
  const fb::ProgramBinary* binary = kept->programs()->Get(i);
  return IsBinaryOf(*binary, *plan.programs()->Get(i)) ? binary : nullptr;
}

// Memory of a device, for callers who give it to Executable::Bind. One thread at a time, and not
// while kernels work on it.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual void* object() const = 0;
  // The host's view of it, until Unlock. `reads`: with the numbers that it holds.
  virtual Status Lock(bool reads, void** host) = 0;
  // `writes`: it has the numbers of the view from now on.
  virtual Status Unlock(bool writes) = 0;
};

struct LoadTimes {
  int64_t compile_us = 0;  // after upload_us
  BinaryCount binaries;
  int64_t upload_us = 0;
  Refusal refusal;  // of a plan that could not be loaded
};

// Handles of the GPU APIs' own types; null: none.
struct Contexts {
  void* cl_platform = nullptr;
  void* cl_device = nullptr;
  void* cl_context = nullptr;
  void* egl_display = nullptr;
  void* egl_context = nullptr;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  // The device that this backend found.
  virtual const GpuInfo& info() const = 0;
  // The contexts that its kernels run in; callers make buffers there.
  virtual Contexts contexts() const { return {}; }
  // The objects that Bind takes: none, cl_mem of its context, or OpenGL ES's buffers of one that
  // shares them.
  enum class Takes { kNothing, kClMem, kGlBuffer };
  virtual Takes takes() const { return Takes::kNothing; }
  // `object`: one of the context that there is already, and stays its owner's; null: a new one.
  virtual Status MakeMemory(size_t, void* /*object*/, std::unique_ptr<DeviceMemory>*) {
    return Unsupported("%s has no memory for callers", name());
  }
  // Its object is for Bind. handle: null: only says whether memory of this kind can be had.
  virtual Status Import(SystemMemory::Kind, void* /*handle*/, size_t /*bytes*/,
                        std::unique_ptr<SystemMemory>*) const {
    return Unsupported("%s imports no memory", name());
  }
  // Whether its plans can be run, or only made.
  virtual bool runs() const { return true; }
  // `plan` and `weights` must outlive the executable. `kept`: its programs as a driver compiled
  // them, or null.
  virtual Status Load(const fb::Plan* plan, const PlanWeights& weights, const fb::Binaries* kept,
                      std::unique_ptr<Executable>* executable, LoadTimes* times) = 0;
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_BACKEND_H_
