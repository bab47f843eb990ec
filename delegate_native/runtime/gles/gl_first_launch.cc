#include "delegate_native/runtime/gles/gl_first_launches.h"

namespace quadra {

GlExecutable::FirstLaunches::FirstLaunches(const GlExecutable& executable)
    : executable_(executable) {
  for (unsigned i = 0; i < executable.launches_.size(); ++i) {
    const GlProgram* program = executable.ProgramOf(i).get();
    if (!program->launched && !Holds(program)) launches_.push_back({i, GL_NO_ERROR});
  }
}

bool GlExecutable::FirstLaunches::Holds(const GlProgram* program) const {
  for (const First& first : launches_) {
    if (executable_.ProgramOf(first.dispatch).get() == program) return true;
  }
  return false;
}

void GlExecutable::FirstLaunches::Work(const GlApi& gl) {
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

Status GlExecutable::FirstLaunches::Finish(Refusal* refusal) const {
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

Status GlExecutable::LaunchFirstHere(int* launched, Refusal* refusal) {
  FirstLaunches all(*this);
  if (all.size() == 0) return Status();
  *launched = static_cast<int>(all.size());
  all.LaunchAll();
  QUADRA_RETURN_IF_ERROR(WaitForGpu());
  QUADRA_RETURN_IF_ERROR(CheckGl(gl_, "wait for the first launch of each program"));
  return all.Finish(refusal);
}

// A program that is refused spoils nothing that is loaded: only this plan's memory is bound.
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
