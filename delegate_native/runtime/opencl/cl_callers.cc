// What an executable does with memory and events of its callers.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "delegate_native/base/clock.h"
#include "delegate_native/runtime/opencl/cl_executable.h"

namespace quadra {

// TFLite's tensors stay where they are, so this does something in the first inference only.
Status ClExecutable::WorkOn(Port* port, void* caller) {
  if (port->caller == caller) return Status();
  cl_int code = CL_SUCCESS;
  cl_mem raw = cl_.CreateBuffer(context_->context.get(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                port->bytes, caller, &code);
  if (!raw || code != CL_SUCCESS)
    return context_->Failed("make a buffer over the caller's memory", code);
  port->in_caller = ClHandle<cl_mem>(raw, cl_.ReleaseMemObject);
  port->caller = caller;
  return Point(*port, raw);
}

// The caller's memory may go; the next inference points to what it is given.
Status ClExecutable::Leave(Port* port) {
  port->caller = nullptr;
  const Status status = Point(*port, nullptr);
  port->in_caller = {};
  return status;
}

// The kernels that work on the port's buffer work on `memory`.
Status ClExecutable::Point(const Port& port, cl_mem memory) {
  for (const Use& use : uses_) {
    if (use.buffer != port.buffer) continue;
    const cl_int code =
        cl_.SetKernelArg(use.kernel, use.arg, sizeof(cl_mem), static_cast<void*>(&memory));
    if (code != CL_SUCCESS) return context_->Failed("set an argument to the caller's memory", code);
  }
  return Status();
}

Status ClExecutable::CheckBound(const Port& port, cl_mem memory) const {
  if (!port.is_own) return Unsupported("its memory serves another tensor, too");
  cl_context context = nullptr;
  size_t bytes = 0;
  cl_int code = cl_.GetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof(cl_context),
                                     static_cast<void*>(&context), nullptr);
  if (code == CL_SUCCESS) {
    code = cl_.GetMemObjectInfo(memory, CL_MEM_SIZE, sizeof(bytes), &bytes, nullptr);
  }
  if (code != CL_SUCCESS) return ClFailed("read what buffer it is", code);
  if (context != context_->context.get()) {
    return Unsupported("it is in another OpenCL context than the delegate's");
  }
  if (bytes >= port.bytes) return Status();
  return TooSmall(bytes, port.bytes);
}

Status ClExecutable::Bind(const std::vector<void*>& objects) {
  QUADRA_RETURN_IF_ERROR(home_.Check("OpenCL"));
  const bool any = std::any_of(objects.begin(), objects.end(), [](void* one) { return one; });
  Status first;
  external_.clear();
  for (size_t i = 0; i < objects.size(); ++i) {
    const bool is_input = i < inputs_.size();
    Port& port = is_input ? inputs_[i] : outputs_[i - inputs_.size()];
    cl_mem memory = static_cast<cl_mem>(objects[i]);
    Status status = memory ? CheckBound(port, memory) : Status();
    status = OfBuffer(std::move(status), i, inputs_.size());
    if (!status.ok()) memory = nullptr;
    const bool was_bound = port.bound != nullptr;
    port.bound = memory;
    const bool is_new = std::find(external_.begin(), external_.end(), memory) == external_.end();
    if (memory && is_new && IsExternal(memory)) external_.push_back(memory);
    if (status.ok() && memory) {
      status = Point(port, memory);
    } else if (port.in_place() && (was_bound || !any)) {
      const Status left = Leave(&port);
      if (status.ok()) status = left;
    } else if (was_bound) {
      const Status back = Point(port, buffers_[static_cast<size_t>(port.buffer)].get());
      if (status.ok()) status = back;
    }
    if (first.ok()) first = std::move(status);
  }
  return first;
}

// Whether it was made of memory that cl_khr_external_memory shares with others.
bool ClExecutable::IsExternal(cl_mem memory) const {
  size_t bytes = 0;
  if (!context_->acquire || cl_.GetMemObjectInfo(memory, CL_MEM_PROPERTIES, 0, nullptr, &bytes)) {
    return false;
  }
  // The zero behind them ends a list that the driver left open, too.
  std::vector<cl_mem_properties> found(bytes / sizeof(cl_mem_properties) + 2);
  if (cl_.GetMemObjectInfo(memory, CL_MEM_PROPERTIES, bytes, found.data(), nullptr)) return false;
  for (const cl_mem_properties* at = found.data(); *at; at += 2) {
    if (*at / 32 == CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR / 32) return true;
    // Its value is a list of devices, which ends with a zero.
    if (*at == CL_DEVICE_HANDLE_LIST_KHR) {
      while (at[1]) ++at;
    }
  }
  return false;
}

// Acquires or releases what is external of the bound buffers: all, or none.
Status ClExecutable::Exchange(ClContext::Exchange function, const char* tried) {
  if (external_.empty()) return Status();
  const cl_int code = function(queue_.get(), static_cast<cl_uint>(external_.size()),
                               external_.data(), 0, nullptr, nullptr);
  return code == CL_SUCCESS ? Status() : context_->Failed(tried, code);
}

int64_t ClExecutable::copied_bytes() const {
  size_t copied = 0;
  for (const std::vector<Port>* ports : {&inputs_, &outputs_}) {
    for (const Port& port : *ports) copied += port.in_place() || port.bound ? 0 : port.bytes;
  }
  return static_cast<int64_t>(copied);
}

// The state of the command behind it once it has ended, or at the deadline. The driver's own wait
// has none.
cl_int ClExecutable::StateOf(cl_event event, int deadline_ms) {
  const int64_t until = NowUs() + int64_t{deadline_ms} * 1000;
  for (useconds_t pause = 20;; pause = std::min<useconds_t>(2 * pause, 1000)) {
    cl_int state = CL_QUEUED;
    const cl_int code =
        cl_.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, nullptr);
    if (code != CL_SUCCESS) return code;
    if (state <= CL_COMPLETE || NowUs() > until) return state;
    usleep(pause);
  }
}

Status ClExecutable::Waited(const char* what, cl_int state, int deadline_ms) {
  if (state == CL_COMPLETE) return Status();
  if (state < 0) return context_->Failed(Format("wait for %s", what).c_str(), state);
  return TooLate(what, deadline_ms);
}

// An event of another context cannot be waited for on the device.
bool ClExecutable::IsOurs(cl_event event) const {
  cl_context context = nullptr;
  return cl_.GetEventInfo(event, CL_EVENT_CONTEXT, sizeof(cl_context), static_cast<void*>(&context),
                          nullptr) == CL_SUCCESS &&
         context == context_->context.get();
}

Status ClExecutable::Await(const Events& events, bool on_device) {
  QUADRA_RETURN_IF_ERROR(home_.Check("OpenCL"));
  before_.clear();
  for (void* fence : events.fences) {
    QUADRA_RETURN_IF_ERROR(WaitForFence(fence, events.deadline_ms));
  }
  for (void* one : events.before) {
    cl_event event = static_cast<cl_event>(one);
    // Drivers may keep commands until they are told. An event of no command has no queue.
    cl_command_queue queue = nullptr;
    if (cl_.GetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(cl_command_queue),
                         static_cast<void*>(&queue), nullptr) == CL_SUCCESS &&
        queue) {
      cl_.Flush(queue);
    }
    if (on_device && IsOurs(event)) {
      const cl_int code = cl_.EnqueueBarrierWithWaitList(queue_.get(), 1, &event, nullptr);
      if (code != CL_SUCCESS) return context_->Failed("wait for an input", code);
      before_.push_back(event);
    } else {
      QUADRA_RETURN_IF_ERROR(
          Waited("an input", StateOf(event, events.deadline_ms), events.deadline_ms));
    }
  }
  if (on_device || !going_) return Status();
  const cl_int state = StateOf(going_.get(), events.deadline_ms);
  if (state <= CL_COMPLETE) going_ = {};
  return Waited("the inference that goes on", state, events.deadline_ms);
}

// Whatever was launched is behind the event, also of a launch that failed; and the inputs' events
// are, so that where one fails this one does.
Status ClExecutable::Start(Events* events) {
  QUADRA_RETURN_IF_ERROR(home_.Check("OpenCL"));
  QUADRA_RETURN_IF_ERROR(Exchange(context_->acquire, "acquire the caller's memory"));
  Status status = Launches(0, launches_.size(), queue_.get(), nullptr);
  Status released = Exchange(context_->release, "release the caller's memory");
  if (status.ok()) status = std::move(released);
  cl_event event = nullptr;
  cl_int code = cl_.EnqueueBarrierWithWaitList(queue_.get(), static_cast<cl_uint>(before_.size()),
                                               before_.empty() ? nullptr : before_.data(), &event);
  before_.clear();
  if (code == CL_SUCCESS) {
    going_ = ClHandle<cl_event>(event, cl_.ReleaseEvent);
    code = cl_.Flush(queue_.get());
  }
  if (status.ok() && code != CL_SUCCESS) status = context_->Failed("end an inference", code);
  if (status.ok()) events->done = event;
  return status;
}

}  // namespace quadra
