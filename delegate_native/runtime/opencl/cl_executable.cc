#include "delegate_native/runtime/opencl/cl_executable.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "delegate_native/base/clock.h"
#include "delegate_native/base/cpu_shapes.h"
#include "delegate_native/base/shape.h"
#include "delegate_native/runtime/opencl/cl_threads.h"

namespace quadra {
namespace {

template <typename Vector>
size_t Count(const Vector* vector) {
  return vector ? vector->size() : 0;
}

constexpr size_t kHugePage = size_t{2} << 20;  // smaller memory has room for none

// Memory that kernels address with vectors of any width.
bool IsAligned(const void* memory) { return reinterpret_cast<uintptr_t>(memory) % 64 == 0; }

}  // namespace

// NVIDIA's driver crashes where a part is released before one that was made later and lies in it.
ClExecutable::~ClExecutable() {
  launches_.clear();  // kernels may hold them
  while (!parts_.empty()) parts_.pop_back();
}

Status ClExecutable::MakeQueue(cl_command_queue_properties properties,
                               ClHandle<cl_command_queue>* queue) {
  cl_int code = CL_SUCCESS;
  cl_command_queue raw =
      cl_.CreateCommandQueue(context_->context.get(), context_->device, properties, &code);
  if (!raw || code != CL_SUCCESS) return context_->Failed("make a command queue", code);
  *queue = ClHandle<cl_command_queue>(raw, cl_.ReleaseCommandQueue);
  return Status();
}

ClExecutable::Port ClExecutable::MakePort(const fb::Io& io) const {
  const fb::Tensor& tensor = *plan_.tensors()->Get(static_cast<unsigned>(io.tensor()));
  Port port;
  port.buffer = tensor.buffer();
  port.offset = tensor.offset();
  port.bytes = tensor.bytes();
  const fb::Buffer& buffer = *plan_.buffers()->Get(static_cast<unsigned>(port.buffer));
  port.is_own = buffer.kind() == fb::BufferKind_Io && (port.bytes + 3) / 4 == buffer.bytes() / 4;
  return port;
}

// Memory that another can take the place of belongs to one port only.
void ClExecutable::MakePorts() {
  std::vector<int> ports_of(Count(plan_.buffers()), 0);
  for (unsigned i = 0; i < Count(plan_.inputs()); ++i) {
    inputs_.push_back(MakePort(*plan_.inputs()->Get(i)));
  }
  for (unsigned i = 0; i < Count(plan_.outputs()); ++i) {
    outputs_.push_back(MakePort(*plan_.outputs()->Get(i)));
  }
  for (std::vector<Port>* ports : {&inputs_, &outputs_}) {
    for (Port& port : *ports) ++ports_of[static_cast<size_t>(port.buffer)];
  }
  for (std::vector<Port>* ports : {&inputs_, &outputs_}) {
    for (Port& port : *ports) {
      port.is_own &= ports_of[static_cast<size_t>(port.buffer)] == 1;
      port.shares = port.is_own && context_->info.shares_host_memory;
    }
  }
}

// The port that this buffer is for; null where it is none's own.
const ClExecutable::Port* ClExecutable::OwnerOf(int buffer) const {
  for (const std::vector<Port>* ports : {&inputs_, &outputs_}) {
    for (const Port& port : *ports) {
      if (port.is_own && port.buffer == buffer) return &port;
    }
  }
  return nullptr;
}

// Zeros, in huge pages where the system has them: in small ones, which the driver takes, a second
// start of DeepLab v3 (29 MB) spends 10 of its 62 ms on page faults. Null: no memory is left.
void* ClExecutable::MakeHugePages(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  madvise(pages, bytes, MADV_HUGEPAGE);  // an error: the system has small ones only
  pages_.emplace_back(pages, Unmap{bytes});
  return pages;
}

Status ClExecutable::MakeBuffer(const fb::Buffer& buffer, ClHandle<cl_mem>* memory) {
  if (buffer.bytes() > static_cast<uint64_t>(context_->info.max_buffer_bytes)) {
    return DeviceFailed("make a buffer of %llu bytes: the device allows %lld",
                        static_cast<unsigned long long>(buffer.bytes()),
                        static_cast<long long>(context_->info.max_buffer_bytes));
  }
  cl_mem_flags flags = CL_MEM_READ_WRITE;
  void* data = nullptr;
  if (buffer.kind() == fb::BufferKind_Constant) {
    data = const_cast<uint8_t*>(buffer.data()->data());
    const bool in_place = kHasCpuShapes && context_->info.shares_host_memory && IsAligned(data);
    flags = CL_MEM_READ_ONLY | (in_place ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR);
    shares_constants_ |= in_place;
  } else if (kHasCpuShapes && context_->info.shares_host_memory && buffer.bytes() >= kHugePage) {
    data = MakeHugePages(buffer.bytes());
    if (data) flags |= CL_MEM_USE_HOST_PTR;
  }
  cl_int code = CL_SUCCESS;
  cl_mem raw = cl_.CreateBuffer(context_->context.get(), flags, buffer.bytes(), data, &code);
  if (!raw || code != CL_SUCCESS) {
    const auto bytes = static_cast<unsigned long long>(buffer.bytes());
    return context_->Failed(TextOf("make a buffer of %llu bytes", bytes).c_str(), code);
  }
  *memory = ClHandle<cl_mem>(raw, cl_.ReleaseMemObject);
  return Status();
}

Status ClExecutable::MakeImage(const fb::Buffer& buffer, ClHandle<cl_mem>* memory) {
  const int channel = buffer.cell() == fb::Cell_Int    ? CL_SIGNED_INT32
                      : buffer.cell() == fb::Cell_Half ? CL_HALF_FLOAT
                                                       : CL_FLOAT;
  const cl_image_format format = {CL_RGBA, static_cast<cl_channel_type>(channel)};
  cl_image_desc desc = {};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = static_cast<size_t>(buffer.width());
  desc.image_height = static_cast<size_t>(buffer.height());
  cl_int code = CL_SUCCESS;
  cl_mem raw =
      cl_.CreateImage(context_->context.get(), CL_MEM_READ_WRITE, &format, &desc, nullptr, &code);
  if (!raw || code != CL_SUCCESS) {
    return context_->Failed(
        TextOf("make an image of %d x %d pixels", buffer.width(), buffer.height()).c_str(), code);
  }
  *memory = ClHandle<cl_mem>(raw, cl_.ReleaseMemObject);
  return Status();
}

// Nothing for a region that is its whole buffer: the buffer serves.
Status ClExecutable::MakePart(const fb::Region& region, ClHandle<cl_mem>* part) {
  const fb::Buffer& buffer = *plan_.buffers()->Get(static_cast<unsigned>(region.buffer()));
  if (buffer.kind() == fb::BufferKind_Image || region.bytes() == buffer.bytes()) return Status();
  const cl_buffer_region bounds = {static_cast<size_t>(region.offset()),
                                   static_cast<size_t>(region.bytes())};
  cl_int code = CL_SUCCESS;
  cl_mem raw = cl_.CreateSubBuffer(buffers_[static_cast<size_t>(region.buffer())].get(), 0,
                                   CL_BUFFER_CREATE_TYPE_REGION, &bounds, &code);
  if (!raw || code != CL_SUCCESS) {
    return context_->Failed(TextOf("take %zu bytes at %zu of a buffer of %llu", bounds.size,
                                   bounds.origin, static_cast<unsigned long long>(buffer.bytes()))
                                .c_str(),
                            code);
  }
  *part = ClHandle<cl_mem>(raw, cl_.ReleaseMemObject);
  return Status();
}

Status ClExecutable::MakeMemory() {
  QUADRA_RETURN_IF_ERROR(MakeQueue(0, &queue_));
  MakePorts();
  for (unsigned i = 0; i < Count(plan_.buffers()); ++i) {
    const fb::Buffer& buffer = *plan_.buffers()->Get(i);
    buffers_.emplace_back();
    if (buffer.kind() == fb::BufferKind_Image) {
      QUADRA_RETURN_IF_ERROR(MakeImage(buffer, &buffers_.back()));
      continue;
    }
    const Port* owner = OwnerOf(static_cast<int>(i));
    if (buffer.bytes() > 0 && !(owner && owner->in_place())) {
      QUADRA_RETURN_IF_ERROR(MakeBuffer(buffer, &buffers_.back()));
    }
  }
  for (unsigned i = 0; i < Count(plan_.regions()); ++i) {
    parts_.emplace_back();
    QUADRA_RETURN_IF_ERROR(MakePart(*plan_.regions()->Get(i), &parts_.back()));
  }
  return Status();
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
    const int buffer = plan_.regions()->Get(static_cast<unsigned>(arg.index()))->buffer();
    const Port* owner = OwnerOf(buffer);
    if (owner) uses_.push_back({buffer, kernel, index});
    if (owner && owner->in_place() && !owner->in_caller) return Status();
    const ClHandle<cl_mem>& part = parts_[static_cast<size_t>(arg.index())];
    const bool in_caller = owner && owner->in_caller;
    cl_mem memory = in_caller ? owner->in_caller.get()
                    : part    ? part.get()
                              : buffers_[static_cast<size_t>(buffer)].get();
    code = cl_.SetKernelArg(kernel, index, sizeof(cl_mem), static_cast<void*>(&memory));
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

Status ClExecutable::SetCommonArgs(const fb::Dispatch& dispatch, const ClCommonEntry& common,
                                   cl_kernel kernel) {
  std::vector<cl_int> numbers = {common.NumberOf(dispatch.entry()->str())};
  cl_uint place = 1;
  for (const fb::Arg* arg : *dispatch.args()) {
    if (arg->kind() == fb::ArgKind_Buffer) {
      QUADRA_RETURN_IF_ERROR(SetArg(dispatch, kernel, place++, *arg));
    } else if (arg->kind() == fb::ArgKind_Int) {
      numbers.push_back(arg->int_value());
    } else {
      const float value = arg->float_value();
      numbers.push_back(0);
      memcpy(&numbers.back(), &value, sizeof(value));
    }
  }
  numbers.resize(1 + static_cast<size_t>(std::max(common.numbers, 1)));
  cl_int code = cl_.SetKernelArg(kernel, 0, numbers.size() * sizeof(numbers[0]), numbers.data());
  for (; place <= static_cast<cl_uint>(common.buffers) && code == CL_SUCCESS; ++place) {
    code = cl_.SetKernelArg(kernel, place, sizeof(cl_mem), nullptr);
  }
  if (code == CL_SUCCESS) return Status();
  return context_->Failed(Format("set the arguments of %s", dispatch.name()->c_str()).c_str(),
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
  const bool common = kHasCpuShapes && !built.common.empty();
  const char* entry = common ? ClCommonEntry::name() : dispatch.entry()->c_str();
  cl_kernel raw = cl_.CreateKernel(built.program.get(), entry, &code);
  if (!raw || code != CL_SUCCESS) {
    return context_->Failed(
        TextOf("find the kernel %s of %s", entry, dispatch.name()->c_str()).c_str(), code);
  }
  launches_.emplace_back();
  Launch& launch = launches_.back();
  launch.kernel = ClHandle<cl_kernel>(raw, cl_.ReleaseKernel);
  for (unsigned i = 0; i < 3; ++i) {
    launch.global[i] = static_cast<size_t>(dispatch.global()->Get(i));
    launch.local[i] = static_cast<size_t>(dispatch.local()->Get(i));
  }
  if (common) return SetCommonArgs(dispatch, built.common, raw);
  for (unsigned i = 0; i < Count(dispatch.args()); ++i) {
    QUADRA_RETURN_IF_ERROR(SetArg(dispatch, raw, i, *dispatch.args()->Get(i)));
  }
  return Status();
}

std::vector<ProgramBinary> ClExecutable::Binaries() {
  std::vector<ProgramBinary> binaries(Count(plan_.programs()));
  for (unsigned i = 0; i < binaries.size(); ++i) {
    binaries[i] = made_by_->BinaryOf(*plan_.programs()->Get(i), programs_);
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

Status ClExecutable::Begin(const std::vector<const void*>& inputs,
                           const std::vector<void*>& outputs) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Port& port = inputs_[i];
    if (port.bound) continue;
    if (port.in_place()) {
      QUADRA_RETURN_IF_ERROR(WorkOn(&port, const_cast<void*>(inputs[i])));
      continue;
    }
    const cl_int code =
        cl_.EnqueueWriteBuffer(queue_.get(), buffers_[static_cast<size_t>(port.buffer)].get(),
                               CL_FALSE, port.offset, port.bytes, inputs[i], 0, nullptr, nullptr);
    if (code != CL_SUCCESS) return context_->Failed(Format("write input %zu", i).c_str(), code);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].in_place() && !outputs_[i].bound)
      QUADRA_RETURN_IF_ERROR(WorkOn(&outputs_[i], outputs[i]));
  }
  return Status();
}

Status ClExecutable::Launches(size_t first, size_t count, cl_command_queue queue,
                              std::vector<ClHandle<cl_event>>* events) {
  const size_t wrapped[3] = {kWrappedOrigin, 0, 0};
  const size_t* origin = kHasCpuShapes && context_->threads ? wrapped : nullptr;
  const auto every = static_cast<size_t>(context_->info.flush_every);
  for (size_t i = first; i < first + count; ++i) {
    const Launch& launch = launches_[i];
    cl_event event = nullptr;
    const cl_int code =
        cl_.EnqueueNDRangeKernel(queue, launch.kernel.get(), 3, origin, launch.global, launch.local,
                                 0, nullptr, events ? &event : nullptr);
    if (code != CL_SUCCESS) {
      const fb::Dispatch& dispatch = *plan_.dispatches()->Get(static_cast<unsigned>(i));
      return context_->Failed(Format("launch %s", dispatch.name()->c_str()).c_str(), code);
    }
    if (events) events->emplace_back(event, cl_.ReleaseEvent);
    else QUADRA_RETURN_IF_ERROR(TakeAfter(i, plan_));
    // Not behind the last one: clFinish right after clFlush does not wait on some drivers (Rusticl
    // of Mesa 22.3, clvk before 2021).
    if (every > 0 && (i - first + 1) % every == 0 && i + 1 < first + count) cl_.Flush(queue);
  }
  return Status();
}

// Memory for a port that is to work on its caller's.
Status ClExecutable::MakeScratch(Port* port) {
  if (!port->in_place() || port->bound) return Status();
  cl_int code = CL_SUCCESS;
  cl_mem raw =
      cl_.CreateBuffer(context_->context.get(), CL_MEM_READ_WRITE, port->bytes, nullptr, &code);
  if (!raw || code != CL_SUCCESS) return context_->Failed("make a buffer for a first launch", code);
  port->in_caller = ClHandle<cl_mem>(raw, cl_.ReleaseMemObject);
  return Point(*port, raw);
}

Status ClExecutable::LaunchKernels(int* launched, Refusal* refusal) {
  const size_t wrapped[3] = {kWrappedOrigin, 0, 0};
  const size_t* origin = kHasCpuShapes && context_->threads ? wrapped : nullptr;
  Status first;
  int refused = 0;
  for (unsigned i = 0; i < launches_.size(); ++i) {
    const fb::Dispatch& dispatch = *plan_.dispatches()->Get(i);
    if (FirstOfKernel(plan_, i) != i || programs_[dispatch.entry()->str()]->launched) continue;
    const Launch& launch = launches_[i];
    const cl_int code = cl_.EnqueueNDRangeKernel(queue_.get(), launch.kernel.get(), 3, origin,
                                                 launch.local, launch.local, 0, nullptr, nullptr);
    ++*launched;
    if (code == CL_SUCCESS) continue;
    const std::string tried = Format("launch %s", dispatch.name()->c_str());
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
  Status status;
  for (std::vector<Port>* ports : {&inputs_, &outputs_}) {
    for (Port& port : *ports) {
      if (status.ok()) status = MakeScratch(&port);
    }
  }
  if (status.ok()) status = LaunchKernels(launched, refusal);
  // Also after an error: what was queued works on the scratch memory.
  const cl_int code = cl_.Finish(queue_.get());
  if (code != CL_SUCCESS) {
    *refusal = Refusal();
    Status failed = context_->Failed("wait for the first launch of each kernel", code);
    if (status.ok()) status = std::move(failed);
  }
  for (std::vector<Port>* ports : {&inputs_, &outputs_}) {
    for (Port& port : *ports) {
      Status left = port.in_place() && port.in_caller ? Leave(&port) : Status();
      if (status.ok()) status = std::move(left);
    }
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
  const size_t all = launches_.size(), uses = uses_.size();
  const Status status = MakeLaunch(dispatch, built);
  uses_.resize(uses);  // it is gone before any port changes
  if (launches_.size() == all) return status;
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
  Launch& launch = launches_[index];
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

Status ClExecutable::Read(int buffer, size_t offset, size_t bytes, cl_bool waits, void* to) {
  const cl_int code =
      cl_.EnqueueReadBuffer(queue_.get(), buffers_[static_cast<size_t>(buffer)].get(), waits,
                            offset, bytes, to, 0, nullptr, nullptr);
  return code == CL_SUCCESS ? Status() : context_->Failed("read an output", code);
}

Status ClExecutable::ReadCopy(const fb::Tensor& from, void* to) {
  return Read(from.buffer(), 0, from.bytes(), CL_TRUE, to);
}

Status ClExecutable::End(const std::vector<void*>& outputs) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Port& port = outputs_[i];
    if (port.in_place() || port.bound) continue;
    QUADRA_RETURN_IF_ERROR(Read(port.buffer, port.offset, port.bytes, CL_FALSE, outputs[i]));
  }
  return Status();
}

Status ClExecutable::Run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                         RunTimes* times) {
  if (inputs.size() != inputs_.size() || outputs.size() != outputs_.size()) {
    return Internal("%zu inputs and %zu outputs for a plan that has %zu and %zu", inputs.size(),
                    outputs.size(), inputs_.size(), outputs_.size());
  }
  QUADRA_RETURN_IF_ERROR(home_.Check("OpenCL"));
  if (times) times->at_ns[RunTimes::kBegun] = NowNs();
  QUADRA_RETURN_IF_ERROR(Exchange(context_->acquire, "acquire the caller's memory"));
  Status status = Begin(inputs, outputs);
  if (status.ok()) status = times ? Profile(0, launches_.size(), times) : LaunchAll();
  if (status.ok()) status = End(outputs);
  Status released = Exchange(context_->release, "release the caller's memory");
  if (status.ok()) status = std::move(released);
  // Also after an error: what was queued works on the caller's memory.
  const cl_int code = cl_.Finish(queue_.get());
  if (times) times->at_ns[RunTimes::kRead] = NowNs();
  QUADRA_RETURN_IF_ERROR(std::move(status));
  return code == CL_SUCCESS ? Status() : context_->Failed("wait for the kernels", code);
}

}  // namespace quadra
