// Events: those that an inference waits for, and those that it leaves to its callers.
#include <fcntl.h>
#include <unistd.h>

#include "delegate_native/runtime/gles/gl_executable.h"

namespace quadra {
namespace {

const EGLSyncKHR kNoSync = EGL_NO_SYNC_KHR;

}  // namespace

bool GlExecutable::can_start(const Events& events) const {
  const GlContext& context = *device_->context;
  return events.gives_fence ? context.has_fences : context.has_syncs;
}

// The context waits, and the host goes on.
Status GlExecutable::WaitOnDevice(EGLSyncKHR sync, bool is_ours) {
  const EglApi& egl = device_->context->egl;
  const EGLDisplay display = device_->context->contexts().egl_display;
  const bool waits = sync != kNoSync && egl.WaitSyncKHR(display, sync, 0);
  Status status = waits ? Status() : EglFailed(egl, "wait for an input");
  if (is_ours && sync != kNoSync) egl.DestroySyncKHR(display, sync);
  return status;
}

Status GlExecutable::AwaitHere(const Events& events, bool on_device) {
  const GlContext& context = *device_->context;
  const EglApi& egl = context.egl;
  const EGLDisplay display = context.contexts().egl_display;
  for (void* fence : events.fences) {
    if (!on_device || !context.has_fences) break;
    const int given = static_cast<int>(reinterpret_cast<intptr_t>(fence));
    // EGL closes it. Of -1 it would make a fence of its own.
    const int fd = fcntl(given, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return NoFence(given);
    const EGLint attributes[] = {EGL_SYNC_NATIVE_FENCE_FD_ANDROID, fd, EGL_NONE};
    const EGLSyncKHR sync = egl.CreateSyncKHR(display, EGL_SYNC_NATIVE_FENCE_ANDROID, attributes);
    if (sync == kNoSync) close(fd);
    QUADRA_RETURN_IF_ERROR(WaitOnDevice(sync, true));
  }
  for (EGLSyncKHR sync : events.before) {
    if (on_device) QUADRA_RETURN_IF_ERROR(WaitOnDevice(sync, false));
  }
  if (on_device) return Status();
  const GLenum answer = PollGpu(events.deadline_ms);
  if (answer == GL_TIMEOUT_EXPIRED)
    return TooLate("the inference that goes on", events.deadline_ms);
  goes_on_ = false;
  return answer == GL_WAIT_FAILED ? GlFailed(gl_, "wait for the inference that goes on") : Status();
}

// EGL needs no context for it.
Status GlExecutable::WaitOnHost(EGLSyncKHR sync, int deadline_ms) const {
  const EglApi& egl = device_->context->egl;
  const EGLint came =
      egl.ClientWaitSyncKHR(device_->context->contexts().egl_display, sync, 0,
                            EGLTimeKHR{1000000} * static_cast<unsigned>(deadline_ms));
  if (came == EGL_TIMEOUT_EXPIRED_KHR) return TooLate("an input", deadline_ms);
  return came ? Status() : EglFailed(egl, "wait for an input");
}

// Nothing that is loaded is invalidated by an event that does not come. The host waits in the
// caller's thread: other models use the context's meanwhile.
Status GlExecutable::Await(const Events& events, bool on_device) {
  const GlContext& context = *device_->context;
  if (!on_device || !context.has_fences) {
    for (void* fence : events.fences) {
      QUADRA_RETURN_IF_ERROR(WaitForFence(fence, events.deadline_ms));
    }
  }
  if (!events.before.empty() && !context.has_syncs) {
    return Unsupported("EGL has no sync objects to wait for");
  }
  // Drivers may keep the commands before a sync until they are told.
  if (!events.before.empty() && context.egl.GetCurrentContext() != EGL_NO_CONTEXT) gl_.Flush();
  for (EGLSyncKHR sync : events.before) {
    if (on_device || !device_->thread.is_here()) break;
    QUADRA_RETURN_IF_ERROR(WaitOnHost(sync, events.deadline_ms));
  }
  const bool none = on_device ? events.before.empty() && events.fences.empty() : !goes_on_;
  if (none) return Status();
  return device_->thread.Do([&] { return AwaitHere(events, on_device); });
}

void GlExecutable::EndDone() {
  if (fence_ >= 0) close(fence_);
  if (done_ != kNoSync) {
    device_->context->egl.DestroySyncKHR(device_->context->contexts().egl_display, done_);
  }
  fence_ = -1;
  done_ = kNoSync;
}

// Where the driver gives no event it is waited for.
Status GlExecutable::StartHere(EGLSyncKHR callers, Events* events) {
  const EglApi& egl = device_->context->egl;
  const EGLDisplay display = device_->context->contexts().egl_display;
  EndDone();
  if (callers != kNoSync) QUADRA_RETURN_IF_ERROR(WaitOnDevice(callers, true));
  QUADRA_RETURN_IF_ERROR(memory_.Write({}));
  QUADRA_RETURN_IF_ERROR(DispatchAll());
  gl_.MemoryBarrier(GL_ALL_BARRIER_BITS);
  const bool is_fence = events->gives_fence;
  done_ = egl.CreateSyncKHR(display, is_fence ? EGL_SYNC_NATIVE_FENCE_ANDROID : EGL_SYNC_FENCE_KHR,
                            nullptr);
  gl_.Flush();
  goes_on_ = true;
  events->done = done_;
  if (is_fence && done_ != kNoSync) {
    fence_ = egl.DupNativeFenceFDANDROID(display, done_);
    // The C API has one type for all events. NOLINTNEXTLINE(performance-no-int-to-ptr)
    events->done = fence_ > 0 ? reinterpret_cast<void*>(static_cast<intptr_t>(fence_)) : nullptr;
  }
  QUADRA_RETURN_IF_ERROR(CheckGl(gl_, "run the kernels"));
  if (events->done) return Status();
  goes_on_ = false;
  return WaitForGpu();
}

// Commands that the caller's own context still has to do may be with buffers that are ours now,
// too: it comes before, and the host does not wait for it.
Status GlExecutable::Start(Events* events) {
  const EglApi& egl = device_->context->egl;
  EGLSyncKHR callers = kNoSync;
  if (egl.GetCurrentContext() != EGL_NO_CONTEXT) {
    callers =
        egl.CreateSyncKHR(device_->context->contexts().egl_display, EGL_SYNC_FENCE_KHR, nullptr);
    callers == kNoSync ? gl_.Finish() : gl_.Flush();
  }
  return Do([&] { return StartHere(callers, events); });
}

}  // namespace quadra
