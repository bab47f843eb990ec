// What a driver does at a program's first dispatch, done by several threads when a plan is loaded.
// Each has a context of its own: what one of them compiled, the others find in the driver's cache.
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "delegate_native/base/thread.h"
#include "delegate_native/runtime/gles/gl_executable.h"

namespace quadra {
namespace {

constexpr long kMostHelpers = 3;

}  // namespace

class GlExecutable::FirstDispatches {
 public:
  explicit FirstDispatches(const GlExecutable& executable) : executable_(executable) {}

  // A program is taken by one thread only. Dispatches of no groups make all that is made for the
  // first one, and compute nothing.
  Status Work(const GlApi& gl) {
    GLuint no_groups = 0;
    const GLuint zeros[3] = {0, 0, 0};
    gl.GenBuffers(1, &no_groups);
    gl.BindBuffer(GL_DISPATCH_INDIRECT_BUFFER, no_groups);
    gl.BufferData(GL_DISPATCH_INDIRECT_BUFFER, sizeof(zeros), zeros, GL_STATIC_DRAW);
    for (size_t i; (i = next_++) < executable_.programs_.size();) {
      const GLuint program = executable_.programs_[i]->id();
      for (const Launch& launch : executable_.launches_) {
        if (launch.program != program) continue;
        executable_.BindLaunch(gl, launch);
        gl.DispatchComputeIndirect(0);
        break;
      }
    }
    gl.DeleteBuffers(1, &no_groups);
    return CheckGl(gl, "compile the programs");
  }

  // In a thread of its own. Where it fails, later dispatches do what it leaves.
  static void* Help(void* self) {
    FirstDispatches& all = *static_cast<FirstDispatches*>(self);
    GlContext context;
    Status status = context.OpenBeside(*all.executable_.device_->context);
    if (status.ok()) status = all.Work(context.gl);
    static_cast<void>(status);
    return nullptr;
  }

 private:
  const GlExecutable& executable_;
  std::atomic<size_t> next_{0};
};

Status GlExecutable::DispatchFirst() {
  const GlContext& context = *device_->context;
  // No GPU compiles so. Contexts of the app would share with those of the other threads.
  if (!kHasCpuShapes || !context.info.compiles_at_dispatch || context.is_shared()) return Status();
  FirstDispatches all(*this);
  const long most = std::min(kMostHelpers, sysconf(_SC_NPROCESSORS_ONLN) - 1);
  if (most < 1 || programs_.size() < 2) return Status();
  gl_.Flush();
  pthread_t helpers[kMostHelpers];
  int count = 0;
  while (count < most &&
         StartThread("quadra-gles-cc", FirstDispatches::Help, &all, &helpers[count]) == 0) {
    ++count;
  }
  Status status = all.Work(gl_);
  while (count > 0) pthread_join(helpers[--count], nullptr);
  return status;
}

}  // namespace quadra
