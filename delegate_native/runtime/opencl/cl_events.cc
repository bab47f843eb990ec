// Events: those that an inference waits for, and those that it leaves to its callers.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "delegate_native/base/lean/clock.h"
#include "delegate_native/runtime/opencl/cl_executable.h"

namespace quadra {

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
  QUADRA_RETURN_IF_ERROR(memory_.Acquire(queue_.get()));
  Status status = memory_.BringStates({}, {}, queue_.get());
  if (status.ok()) status = Launches(0, launches_.size(), queue_.get(), nullptr);
  Status released = memory_.Release(queue_.get());
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
