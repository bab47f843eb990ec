// Each program's first launch, when a plan is loaded: drivers refuse then what needs too much, and
// some compile. With several threads where they do, each with a context of its own: what one of
// them compiled, the others find in the driver's cache.
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "delegate_native/base/thread.h"
#include "delegate_native/runtime/gles/gl_executable.h"

namespace quadra {
namespace {

constexpr long kMostHelpers = 3;

}  // namespace

class GlExecutable::FirstLaunches {
 public:
  explicit FirstLaunches(const GlExecutable& executable) : executable_(executable) {
    for (unsigned i = 0; i < executable.launches_.size(); ++i) {
      const GlProgram* program = executable.ProgramOf(i).get();
      if (!program->launched && !Holds(program)) launches_.push_back({i, GL_NO_ERROR});
    }
  }

  size_t size() const { return launches_.size(); }

  // One group each. A program is taken by one thread only.
  void Work(const GlApi& gl) {
    for (size_t i; (i = next_++) < size() && !gl.lost;) {
      First& first = launches_[i];
      executable_.BindLaunch(gl, executable_.launches_[first.dispatch]);
      gl.DispatchCompute(1, 1, 1);
      gl.MemoryBarrier(GL_ALL_BARRIER_BITS);
      first.code = gl.GetError();
      // Takes the context's other flags, too, which would be the next launch's.
      if (first.code != GL_NO_ERROR) static_cast<void>(GlError(gl, "", first.code));
    }
  }

  // In a thread of its own. Where there is no context for it, the others do its work.
  static void* Help(void* self) {
    FirstLaunches& all = *static_cast<FirstLaunches*>(self);
    GlContext context;
    if (!context.OpenBeside(*all.executable_.device_->context).ok()) return nullptr;
    all.Work(context.gl);
    context.gl.Finish();
    return nullptr;
  }

  // The first that was refused.
  Status Finish(Refusal* refusal) const {
    Status status;
    const fb::Plan& plan = executable_.plan_;
    refusal->all = true;
    for (const First& first : launches_) {
      if (first.code == GL_NO_ERROR) {
        refusal->all = false;
        executable_.ProgramOf(first.dispatch)->launched = true;
        continue;
      }
      refusal->AddLaunch(plan, first.dispatch);
      if (!status.ok()) continue;
      const char* name = plan.dispatches()->Get(first.dispatch)->name()->c_str();
      status = GlError(executable_.gl_, Format("launch %s", name).c_str(), first.code);
    }
    return status;
  }

 private:
  struct First {
    unsigned dispatch;  // the first of its program
    GLenum code;
  };

  bool Holds(const GlProgram* program) const {
    for (const First& first : launches_) {
      if (executable_.ProgramOf(first.dispatch).get() == program) return true;
    }
    return false;
  }

  const GlExecutable& executable_;
  std::vector<First> launches_;
  std::atomic<size_t> next_{0};
};

// Contexts of the app would share with those of the other threads.
Status GlExecutable::LaunchFirstHere(int* launched, Refusal* refusal) {
  FirstLaunches all(*this);
  const GlContext& context = *device_->context;
  const bool helps = kHasCpuShapes && context.info.compiles_at_dispatch && !context.is_shared();
  const long most = helps ? std::min(kMostHelpers, sysconf(_SC_NPROCESSORS_ONLN) - 1) : 0;
  pthread_t helpers[kMostHelpers];
  int count = 0;
  if (all.size() == 0) return Status();
  *launched = static_cast<int>(all.size());
  if (most > 0) gl_.Flush();
  while (count < std::min(most, static_cast<long>(all.size()) - 1) &&
         StartThread("quadra-gles-cc", FirstLaunches::Help, &all, &helpers[count]) == 0) {
    ++count;
  }
  all.Work(gl_);
  while (count > 0) pthread_join(helpers[--count], nullptr);
  QUADRA_RETURN_IF_ERROR(WaitForGpu());
  QUADRA_RETURN_IF_ERROR(CheckGl(gl_, "wait for the first launch of each program"));
  return all.Finish(refusal);
}

// What is refused spoils nothing that is loaded: only this plan's memory is bound.
Status GlExecutable::LaunchFirst(int* launched, Refusal* refusal) {
  Status refused;
  QUADRA_RETURN_IF_ERROR(Do([&] {
    Status status = LaunchFirstHere(launched, refusal);
    if (refusal->dispatches.empty()) return status;
    refused = std::move(status);
    return Status();
  }));
  return refused;
}

}  // namespace quadra
