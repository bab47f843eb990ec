#include "delegate_native/runtime/opencl/cl_executable.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "delegate_native/base/lean/clock.h"
#include "delegate_native/base/shape.h"

namespace quadra {
Status ClExecutable::MakeQueue(cl_command_queue_properties properties,
                               ClHandle<cl_command_queue>* queue) {
  cl_int code = CL_SUCCESS;
  cl_command_queue raw =
      cl_.CreateCommandQueue(context_->context.get(), context_->device, properties, &code);
  if (!raw || code != CL_SUCCESS) return context_->Failed("make a command queue", code);
  *queue = ClHandle<cl_command_queue>(raw, cl_.ReleaseCommandQueue);
  return Status();
}

Status ClExecutable::MakeMemory(const PlanWeights& weights, Refusal* refusal) {
  refusal->stage = Refusal::Stage::kMemory;
  QUADRA_RETURN_IF_ERROR(MakeQueue(0, &queue_));
  if (context_->host) launcher_ = context_->host->MakeLauncher();
  return memory_.Make(weights, refusal);
}

// How many work-items of a group the driver takes for this kernel; 0: it does not say.
size_t ClExecutable::MostItems(cl_kernel kernel) const {
  size_t most = 0;
  const cl_int code = cl_.GetKernelWorkGroupInfo(
      kernel, context_->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(most), &most, nullptr);
  return code == CL_SUCCESS ? most : 0;
}

Status ClExecutable::SetArg(const fb::Dispatch& dispatch, cl_kernel kernel, cl_uint index,
                            const fb::Arg& arg) {
  cl_int code = CL_SUCCESS;
  if (arg.kind() == fb::ArgKind_Buffer) {
    code = memory_.SetArg(kernel, index, arg);
  } else if (arg.kind() == fb::ArgKind_Int) {
    const cl_int value = arg.int_value();
    code = cl_.SetKernelArg(kernel, index, sizeof(value), &value);
  } else {
    const cl_float value = arg.float_value();
    code = cl_.SetKernelArg(kernel, index, sizeof(value), &value);
  }
  if (code == CL_SUCCESS) return Status();
  return context_->Failed(Format("set argument %u of %s", index, dispatch.name()->c_str()).c_str(),
                          code);
}

// Where the driver says that the kernel's group is too large.
Status ClExecutable::CheckGroup(unsigned index, Refusal* refusal) const {
  const fb::Dispatch& dispatch = *plan_.dispatches()->Get(index);
  const size_t takes = MostItems(launches_[index].kernel.get());
  const Group group = GroupOf(dispatch);
  if (takes == 0 || takes >= static_cast<size_t>(ItemsOf(group))) return Status();
  refusal->stage = Refusal::Stage::kBuild;
  refusal->dispatches.push_back({index, static_cast<int>(takes)});
  return DeviceFailed("%s: groups of %d x %d x %d work-items; the driver allows %zu for it",
                      dispatch.name()->c_str(), group[0], group[1], group[2], takes);
}

Status ClExecutable::MakeLaunch(const fb::Dispatch& dispatch, const ClBuiltProgram& built) {
  cl_int code = CL_SUCCESS;
  const ClCommonEntry* common = built.common.get();
  const char* entry = common ? common->name() : dispatch.entry()->c_str();
  const char* name = dispatch.name()->c_str();
  cl_kernel raw = cl_.CreateKernel(built.program.get(), entry, &code);
  if (!raw || code != CL_SUCCESS) {
    return context_->Failed(TextOf("find the kernel %s of %s", entry, name).c_str(), code);
  }
  launches_.emplace_back();
  ClLaunch& launch = launches_.back();
  launch.kernel = ClHandle<cl_kernel>(raw, cl_.ReleaseKernel);
  launch.name = name;
  for (unsigned i = 0; i < 3; ++i) {
    launch.global[i] = static_cast<size_t>(dispatch.global()->Get(i));
    launch.local[i] = static_cast<size_t>(dispatch.local()->Get(i));
  }
  cl_uint place = common ? 1 : 0;
  for (unsigned i = 0; i < Count(dispatch.args()); ++i) {
    const fb::Arg& arg = *dispatch.args()->Get(i);
    if (common && arg.kind() != fb::ArgKind_Buffer) continue;
    QUADRA_RETURN_IF_ERROR(SetArg(dispatch, raw, place++, arg));
  }
  return common ? common->SetNumbers(context_.get(), dispatch, raw) : Status();
}

std::vector<ProgramBinary> ClExecutable::Binaries() {
  std::vector<ProgramBinary> binaries;
  for (unsigned i = 0; i < Count(plan_.programs()); ++i) {
    made_by_->AddBinaries(*plan_.programs()->Get(i), programs_, &binaries);
  }
  return binaries;
}

Status ClExecutable::MakeKernels(ClKernelPrograms programs,
                                 std::shared_ptr<const ClPrograms> made_by, Refusal* refusal) {
  programs_ = std::move(programs);
  made_by_ = std::move(made_by);
  launches_.reserve(Count(plan_.dispatches()));
  Status first;
  for (unsigned i = 0; i < Count(plan_.dispatches()); ++i) {
    const fb::Dispatch& dispatch = *plan_.dispatches()->Get(i);
    const auto program = programs_.find(dispatch.entry()->str());
    if (program == programs_.end()) {
      return Internal("the plan has no kernel %s", dispatch.entry()->c_str());
    }
    Status made = MakeLaunch(dispatch, *program->second);
    if (!made.ok()) {
      *refusal = Refusal();
      return made;
    }
    Status status = CheckGroup(i, refusal);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status ClExecutable::Compile(const ClPrograms& made_by, const fb::Dispatch& dispatch,
                             const std::string& group, ClHandle<cl_program>* made) const {
  const fb::Program& program = *plan_.programs()->Get(static_cast<unsigned>(dispatch.program()));
  std::string source = program.prelude()->str();
  for (const fb::Kernel* kernel : *program.kernels()) {
    if (strcmp(kernel->entry()->c_str(), dispatch.entry()->c_str()) != 0) continue;
    source += Replaced(kernel->source()->str(), GroupText(false, GroupOf(dispatch)), group);
  }
  return made_by.Compile(source, program.options()->str(), dispatch.entry()->str(), made);
}

Refusal ClExecutable::FindRefused(const ClKernelPrograms& programs,
                                  const ClPrograms& made_by) const {
  struct Built final : Build {
    bool Has(const fb::Dispatch& dispatch) const override {
      return programs->count(dispatch.entry()->str()) > 0;
    }
    bool Compiles(const fb::Dispatch& dispatch, const Group& group) const override {
      ClHandle<cl_program> made;
      return self->Compile(*made_by, dispatch, GroupText(false, group), &made).ok();
    }
    const ClExecutable* self;
    const ClKernelPrograms* programs;
    const ClPrograms* made_by;
  };
  Built built;
  built.self = this;
  built.programs = &programs;
  built.made_by = &made_by;
  return context_->lost ? Refusal() : quadra::FindRefused(plan_, built);
}

Status ClExecutable::Launches(size_t first, size_t count, cl_command_queue queue,
                              std::vector<ClHandle<cl_event>>* events) {
  const size_t* origin = launcher_ ? launcher_->origin() : nullptr;
  const auto every = static_cast<size_t>(context_->info.flush_every);
  for (size_t i = first; i < first + count; ++i) {
    const ClLaunch& launch = launches_[i];
    cl_event event = nullptr;
    const cl_int code =
        cl_.EnqueueNDRangeKernel(queue, launch.kernel.get(), 3, origin, launch.global, launch.local,
                                 0, nullptr, events ? &event : nullptr);
    if (code != CL_SUCCESS) return context_->Failed(Format("launch %s", launch.name).c_str(), code);
    if (events) events->emplace_back(event, cl_.ReleaseEvent);
    else QUADRA_RETURN_IF_ERROR(ObserveAfter(i, plan_));
    // Not behind the last one: clFinish right after clFlush does not wait on some drivers (Rusticl
    // of Mesa 22.3, clvk before 2021).
    if (every > 0 && (i - first + 1) % every == 0 && i + 1 < first + count) cl_.Flush(queue);
  }
  return Status();
}

Status ClExecutable::LaunchAll() {
  if (launcher_ && !observes_tensors()) return launcher_->LaunchAll(launches_, queue_.get());
  return Launches(0, launches_.size(), queue_.get(), nullptr);
}

Status ClExecutable::LaunchKernels(int* launched, Refusal* refusal) {
  const size_t* origin = launcher_ ? launcher_->origin() : nullptr;
  Status first;
  int refused = 0;
  for (unsigned i = 0; i < launches_.size(); ++i) {
    const fb::Dispatch& dispatch = *plan_.dispatches()->Get(i);
    if (FirstOfKernel(plan_, i) != i || programs_[dispatch.entry()->str()]->launched) continue;
    const ClLaunch& launch = launches_[i];
    const cl_int code = cl_.EnqueueNDRangeKernel(queue_.get(), launch.kernel.get(), 3, origin,
                                                 launch.local, launch.local, 0, nullptr, nullptr);
    ++*launched;
    if (code == CL_SUCCESS) continue;
    const std::string tried = Format("launch %s", launch.name);
    // Here these say what the kernel needs, and not that the device is lost.
    if (code != CL_OUT_OF_RESOURCES && code != CL_INVALID_WORK_GROUP_SIZE) {
      *refusal = Refusal();
      return context_->Failed(tried.c_str(), code);
    }
    ++refused;
    refusal->AddLaunch(plan_, i);
    if (first.ok()) {
      first = ClFailed(tried.c_str(), code, "try backend=gles, or precision=f32_f16");
    }
  }
  refusal->all = refused == *launched;
  return first;
}

Status ClExecutable::LaunchFirst(int* launched, Refusal* refusal) {
  const auto is_launched = [](const auto& program) { return program.second->launched.load(); };
  if (std::all_of(programs_.begin(), programs_.end(), is_launched)) return Status();
  Status status = LaunchKernels(launched, refusal);
  // Also after an error: what was queued works on the plan's memory.
  const cl_int code = cl_.Finish(queue_.get());
  if (code != CL_SUCCESS) {
    *refusal = Refusal();
    Status failed = context_->Failed("wait for the first launch of each kernel", code);
    if (status.ok()) status = std::move(failed);
  }
  QUADRA_RETURN_IF_ERROR(std::move(status));
  for (const auto& program : programs_) program.second->launched = true;
  return Status();
}

Status ClExecutable::Profile(size_t first, size_t count, RunTimes* times) {
  if (!profiling_queue_) {
    QUADRA_RETURN_IF_ERROR(MakeQueue(CL_QUEUE_PROFILING_ENABLE, &profiling_queue_));
  }
  cl_int code = cl_.Finish(queue_.get());
  if (code != CL_SUCCESS) return context_->Failed("wait for the inputs", code);
  times->at_ns[RunTimes::kWritten] = NowNs();
  std::vector<ClHandle<cl_event>> events;
  const Status launched = Launches(first, count, profiling_queue_.get(), &events);
  times->at_ns[RunTimes::kEnqueued] = NowNs();
  code = cl_.Finish(profiling_queue_.get());
  times->at_ns[RunTimes::kDone] = NowNs();
  QUADRA_RETURN_IF_ERROR(launched);
  if (code != CL_SUCCESS) return context_->Failed("wait for the kernels", code);
  times->dispatches.clear();
  int64_t first_queued = 0;
  for (const ClHandle<cl_event>& event : events) {
    RunTimes::Dispatch dispatch{};
    int64_t* at = dispatch.at_ns;
    for (cl_profiling_info i = 0; i < 4; ++i) {
      cl_.GetEventProfilingInfo(event.get(), CL_PROFILING_COMMAND_QUEUED + i, sizeof(*at), &at[i],
                                nullptr);
      if (i == 0 && times->dispatches.empty()) first_queued = at[0];
      at[i] -= first_queued;
    }
    dispatch.us = static_cast<float>(at[3] - at[2]) * 1e-3f;
    times->dispatches.push_back(dispatch);
  }
  return Status();
}

// A launch of the dispatch's kernel without a word of its group: one program for all of them.
Status ClExecutable::MakeTimed(unsigned index) {
  const fb::Dispatch& dispatch = *plan_.dispatches()->Get(index);
  ClBuiltProgram built;
  QUADRA_RETURN_IF_ERROR(Compile(*made_by_, dispatch, "", &built.program));
  const size_t all = launches_.size();
  const Status status = MakeLaunch(dispatch, built);
  if (launches_.size() == all) return status;
  memory_.Forget(launches_.back().kernel.get());
  std::swap(timed_, launches_.back().kernel);
  launches_.pop_back();
  timed_dispatch_ = index;
  return status;
}

// Each launch is waited for: some drivers keep memory for every one that nobody has waited for.
float ClExecutable::Time(unsigned index, const Group& group) {
  if ((!timed_ || timed_dispatch_ != index) && !MakeTimed(index).ok()) return -1.0f;
  const size_t most = MostItems(timed_.get());
  if (most > 0 && most < static_cast<size_t>(ItemsOf(group))) return 0.0f;
  const fb::Dispatch& dispatch = *plan_.dispatches()->Get(index);
  ClLaunch& launch = launches_[index];
  const auto exchange = [&](const Group& size) {
    std::swap(launch.kernel, timed_);
    for (unsigned axis = 0; axis < 3; ++axis) {
      launch.local[axis] = static_cast<size_t>(size[axis]);
      const int groups = CeilDiv(dispatch.grid()->Get(axis), size[axis]);
      launch.global[axis] = static_cast<size_t>(groups) * launch.local[axis];
    }
  };
  RunTimes times;
  exchange(group);
  const bool measured = Profile(index, 1, &times).ok();
  exchange(GroupOf(dispatch));
  return measured ? times.dispatches[0].us : context_->lost ? -1.0f : 0.0f;
}

Status ClExecutable::ReadCopy(const fb::Tensor& from, void* to) {
  return memory_.ReadNow(from, queue_.get(), to);
}

Status ClExecutable::Run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                         RunTimes* times) {
  QUADRA_RETURN_IF_ERROR(CheckCounts(plan_, inputs.size(), outputs.size()));
  QUADRA_RETURN_IF_ERROR(home_.Check("OpenCL"));
  if (times) times->at_ns[RunTimes::kBegun] = NowNs();
  QUADRA_RETURN_IF_ERROR(memory_.Acquire(queue_.get()));
  Status status = memory_.Write(inputs, outputs, queue_.get());
  if (status.ok()) status = times ? Profile(0, launches_.size(), times) : LaunchAll();
  if (status.ok()) status = memory_.Read(outputs, queue_.get());
  Status released = memory_.Release(queue_.get());
  if (status.ok()) status = std::move(released);
  // Also after an error: what was queued works on the caller's memory.
  const cl_int code = cl_.Finish(queue_.get());
  if (times) times->at_ns[RunTimes::kRead] = NowNs();
  QUADRA_RETURN_IF_ERROR(std::move(status));
  return code == CL_SUCCESS ? Status() : context_->Failed("wait for the kernels", code);
}

}  // namespace quadra
