// What a driver does at a program's first dispatch, done by several threads when a plan is loaded.
// Each has a context of its own: what one of them compiled, the others find in the driver's cache.
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "delegate_native/base/log.h"
#include "delegate_native/base/thread.h"
#include "delegate_native/runtime/gles/gl_executable.h"

namespace quadra {
namespace {

constexpr size_t kMostThreads = 4;

size_t Cores() { return static_cast<size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))); }

}  // namespace

class GlExecutable::FirstDispatches {
 public:
  explicit FirstDispatches(const GlExecutable& executable) : executable_(executable) {
    const fb::Plan& plan = executable.plan_;
    std::vector<bool> seen(plan.programs()->size());
    for (unsigned i = 0; i < executable.launches_.size(); ++i) {
      const auto program = static_cast<unsigned>(plan.dispatches()->Get(i)->program());
      if (!seen[program]) launches_.push_back({TextOf(*plan.programs()->Get(program)), i});
      seen[program] = true;
    }
    // The longest first: so all threads end at about the same time.
    std::sort(launches_.begin(), launches_.end(), [](const One& a, const One& b) {
      return a.text != b.text ? a.text > b.text : a.launch < b.launch;
    });
  }

  size_t count() const { return launches_.size(); }

  // A program is taken by one thread only. Dispatches of no groups make all that is made for the
  // first one, and compute nothing.
  Status Work(const GlApi& gl) {
    GLuint no_groups = 0;
    const GLuint zeros[3] = {0, 0, 0};
    gl.GenBuffers(1, &no_groups);
    gl.BindBuffer(GL_DISPATCH_INDIRECT_BUFFER, no_groups);
    gl.BufferData(GL_DISPATCH_INDIRECT_BUFFER, sizeof(zeros), zeros, GL_STATIC_DRAW);
    for (size_t i; (i = next_++) < launches_.size();) {
      executable_.BindLaunch(gl, executable_.launches_[launches_[i].launch]);
      gl.DispatchComputeIndirect(0);
    }
    gl.DeleteBuffers(1, &no_groups);
    return CheckGl(gl, "dispatch each program for the first time");
  }

  // In a thread of its own. Where it fails, later dispatches do what it leaves.
  static void* Help(void* self) {
    FirstDispatches& all = *static_cast<FirstDispatches*>(self);
    GlContext context;
    Status status = context.OpenBeside(*all.executable_.device_->context);
    if (status.ok()) status = all.Work(context.gl);
    if (!status.ok()) Log(2, "a thread that compiles: %s", status.message().c_str());
    return nullptr;
  }

 private:
  struct One {
    size_t text;  // bytes
    unsigned launch;
  };

  static size_t TextOf(const fb::Program& program) {
    return program.kernels()->Get(0)->source()->size();
  }

  const GlExecutable& executable_;
  std::vector<One> launches_;  // one of each program
  std::atomic<size_t> next_{0};
};

Status GlExecutable::DispatchFirst() {
  const GlContext& context = *device_->context;
  // Contexts of the app would share with those of the other threads.
  if (!context.info.compiles_at_dispatch || context.is_shared()) return Status();
  FirstDispatches all(*this);
  const size_t threads = std::min({kMostThreads, Cores(), all.count()});
  if (threads < 2) return Status();
  gl_.Flush();
  std::vector<pthread_t> helpers(threads - 1);
  for (size_t i = 0; i < helpers.size(); ++i) {
    if (StartThread("quadra-gles-cc", FirstDispatches::Help, &all, &helpers[i]) != 0) {
      helpers.resize(i);
    }
  }
  Status status = all.Work(gl_);
  for (pthread_t helper : helpers) pthread_join(helper, nullptr);
  return status;
}

}  // namespace quadra
