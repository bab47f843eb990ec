// How long dispatches take.
#include "delegate_native/base/lean/clock.h"
#include "delegate_native/base/log.h"
#include "delegate_native/base/shape.h"
#include "delegate_native/runtime/gles/gl_executable.h"

namespace quadra {
namespace {

constexpr GLuint64 kLeastDispatchNs = 100;

}  // namespace

// By the driver's timers where it has them; else each dispatch is waited for, which costs it the
// time of a round trip.
Status GlExecutable::Profile(const std::vector<const void*>& inputs, size_t first, size_t count,
                             RunTimes* times) {
  if (device_->context->info.has_timer_queries) {
    QUADRA_RETURN_IF_ERROR(ProfileByTimers(first, count, times));
    if (!times->dispatches.empty()) return Status();
    // Their memory has served for other tensors since.
    if (!inputs.empty()) QUADRA_RETURN_IF_ERROR(memory_.Write(inputs));
  }
  const int64_t begun = times->at_ns[RunTimes::kWritten] = NowNs();
  for (size_t i = first; i < first + count; ++i) {
    const int64_t start = NowNs() - begun;
    Dispatch(launches_[i]);
    QUADRA_RETURN_IF_ERROR(WaitForGpu());
    const int64_t end = NowNs() - begun;
    times->dispatches.push_back(
        {static_cast<float>(end - start) * 1e-3f, {start, start, start, end}});
  }
  times->at_ns[RunTimes::kEnqueued] = times->at_ns[RunTimes::kDone] = NowNs();
  return Status();
}

// Leaves the times of dispatches empty where the timers did not measure.
Status GlExecutable::ProfileByTimers(size_t first, size_t count, RunTimes* times) {
  QUADRA_RETURN_IF_ERROR(CheckGl(gl_, "write the inputs"));
  GLint disjoint = 0;
  gl_.GetIntegerv(GL_GPU_DISJOINT_EXT, &disjoint);  // asking forgets what was before
  std::vector<GLuint> queries(count);
  gl_.GenQueries(static_cast<GLsizei>(queries.size()), queries.data());
  // An error from here to the first dispatch is the timers'.
  gl_.BeginQuery(GL_TIME_ELAPSED_EXT, queries[0]);
  gl_.EndQuery(GL_TIME_ELAPSED_EXT);
  const Status timers = CheckGl(gl_, "measure by the driver's timers");
  times->at_ns[RunTimes::kWritten] = NowNs();
  for (size_t i = 0; i < count && timers.ok(); ++i) {
    gl_.BeginQuery(GL_TIME_ELAPSED_EXT, queries[i]);
    Dispatch(launches_[first + i]);
    gl_.EndQuery(GL_TIME_ELAPSED_EXT);
  }
  times->at_ns[RunTimes::kEnqueued] = NowNs();
  const Status status = gl_.lost ? timers : WaitForGpu();
  times->at_ns[RunTimes::kDone] = NowNs();
  GLuint64 all_ns = 0;
  for (size_t i = 0; i < queries.size() && status.ok() && timers.ok(); ++i) {
    GLuint ns = 0;
    gl_.GetQueryObjectuiv(queries[i], GL_QUERY_RESULT, &ns);
    all_ns += ns;
    times->dispatches.push_back({static_cast<float>(ns) * 1e-3f, {}});
  }
  gl_.DeleteQueries(static_cast<GLsizei>(queries.size()), queries.data());
  QUADRA_RETURN_IF_ERROR(status);
  gl_.GetIntegerv(GL_GPU_DISJOINT_EXT, &disjoint);
  QUADRA_RETURN_IF_ERROR(CheckGl(gl_, "run the kernels and measure them"));
  // Some drivers know the query and count nothing: a dispatch takes more than that. An error says
  // nothing of the next measurement.
  const bool still = timers.ok() && all_ns < kLeastDispatchNs * queries.size();
  if (still) device_->context->info.has_timer_queries = false;
  if (!timers.ok() || still || disjoint) {
    Log(2, "the driver's timers %s: each dispatch is waited for",
        !timers.ok() ? "fail"
        : still      ? "stand still"
                     : "were disturbed");
    times->dispatches.clear();
  }
  return Status();
}

float GlExecutable::Time(unsigned dispatch, const Group& group) {
  float us = 0.0f;
  return Do([&] { return TimeHere(dispatch, group, &us); }).ok() ? us : -1.0f;
}

Status GlExecutable::TimeHere(unsigned index, const Group& group, float* us) {
  const fb::Dispatch& dispatch = *plan_.dispatches()->Get(index);
  const unsigned program = static_cast<unsigned>(dispatch.program());
  if (timed_dispatch_ != index || timed_group_ != group) {
    timed_program_ =
        device_->programs->WithGroup(*plan_.programs()->Get(program), GroupOf(dispatch), group);
    timed_dispatch_ = index;
    timed_group_ = group;
  }
  if (!timed_program_) return gl_.lost ? GlFailed(gl_, "try a group of work-items") : Status();
  Launch& launch = launches_[index];
  launch.program = timed_program_->id();
  const auto set = [&](const Group& size) {
    for (unsigned axis = 0; axis < 3; ++axis) {
      launch.groups[axis] = static_cast<GLuint>(CeilDiv(dispatch.grid()->Get(axis), size[axis]));
    }
  };
  set(group);
  RunTimes times;
  Status status = Profile({}, index, 1, &times);
  if (status.ok()) *us = times.dispatches[0].us;
  launch.program = programs_[program]->id();
  set(GroupOf(dispatch));
  return status.ok() ? CheckGl(gl_, "try a group of work-items") : status;
}

}  // namespace quadra
