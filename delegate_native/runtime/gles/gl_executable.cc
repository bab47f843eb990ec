#include "delegate_native/runtime/gles/gl_executable.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "delegate_native/base/clock.h"
#include "delegate_native/base/log.h"
#include "delegate_native/base/shape.h"

namespace quadra {
namespace {

constexpr int kMostS = 60;  // for the kernels
constexpr GLuint64 kLeastDispatchNs = 100;
// What a kernel may see of what the one before wrote.
constexpr GLbitfield kKernelBarrier = GL_SHADER_STORAGE_BARRIER_BIT |
                                      GL_SHADER_IMAGE_ACCESS_BARRIER_BIT |
                                      GL_TEXTURE_FETCH_BARRIER_BIT;

// Of pixels of four numbers.
GLenum FormatOf(fb::Cell cell) {
  return cell == fb::Cell_Int ? GL_RGBA32I : cell == fb::Cell_Half ? GL_RGBA16F : GL_RGBA32F;
}

GLenum FormatOf(fb::View view) {
  switch (view) {
    case fb::View_TexelsFloat: return GL_R32F;
    case fb::View_TexelsInt: return GL_R32I;
    case fb::View_TexelsInt4: return FormatOf(fb::Cell_Int);
    case fb::View_TexelsHalf4: return FormatOf(fb::Cell_Half);
    default: return FormatOf(fb::Cell_Float);
  }
}

template <typename Vector>
unsigned Count(const Vector* vector) {
  return vector ? vector->size() : 0;
}

}  // namespace

GlExecutable::GlExecutable(std::shared_ptr<GlDevice> device, const fb::Plan* plan)
    : device_(std::move(device)), gl_(device_->context->gl), plan_(*plan) {}

// Commands work on what is bound: after one that was refused the next ones must not meet what
// another executable bound.
Status GlExecutable::TakeBindings() {
  if (device_->owner == this) return Status();
  device_->owner = nullptr;
  const GlDevice::Bound& bound = device_->bound;
  const bool has_texels = device_->context->info.max_image_buffer_width > 0;
  for (GLuint i = 0; i < bound.buffers; ++i) gl_.BindBufferBase(GL_SHADER_STORAGE_BUFFER, i, 0);
  for (GLuint i = 0; i < bound.images; ++i) {
    gl_.BindImageTexture(i, 0, 0, GL_FALSE, 0, GL_READ_ONLY, GL_RGBA32F);
  }
  for (GLuint i = bound.textures; i-- > 0;) {
    gl_.ActiveTexture(GL_TEXTURE0 + i);
    gl_.BindTexture(GL_TEXTURE_2D, 0);
    if (has_texels) gl_.BindTexture(GL_TEXTURE_BUFFER_EXT, 0);
  }
  gl_.BindBuffer(GL_SHADER_STORAGE_BUFFER, 0);
  gl_.BindBufferBase(GL_UNIFORM_BUFFER, 0, 0);
  QUADRA_RETURN_IF_ERROR(CheckGl(gl_, "release what another model bound"));
  device_->owner = this;
  device_->bound = {};
  return Status();
}

GlExecutable::~GlExecutable() {
  const Status freed = device_->thread.Do([this] {
    Free();
    return Status();
  });
  static_cast<void>(freed);
}

void GlExecutable::Free() {
  EndDone();
  device_->owner = nullptr;
  for (unsigned i = 0; i < buffers_.size(); ++i) {
    const bool image = plan_.buffers()->Get(i)->kind() == fb::BufferKind_Image;
    (image ? gl_.DeleteTextures : gl_.DeleteBuffers)(1, &buffers_[i]);
  }
  for (const Texels& texels : texels_) gl_.DeleteTextures(1, &texels.texture);
  gl_.DeleteBuffers(1, &numbers_);
  programs_.clear();
  timed_program_.reset();
}

Status GlExecutable::Load(const fb::Binaries* kept, LoadTimes* times) {
  Status refused;  // by the compiler, which spoils nothing that is loaded
  QUADRA_RETURN_IF_ERROR(Do([&] {
    const int64_t start = NowUs();
    times->refusal.stage = Refusal::Stage::kMemory;
    QUADRA_RETURN_IF_ERROR(MakeMemory());
    times->refusal = Refusal();
    const int64_t uploaded = NowUs();
    Status built = device_->programs->Build(plan_, kept, &programs_, &times->binaries);
    if (!built.ok()) {
      if (!gl_.lost) times->refusal = FindRefused(plan_, *this);
      if (times->refusal.dispatches.empty()) return built;
      refused = std::move(built);
      return Status();
    }
    QUADRA_RETURN_IF_ERROR(MakeLaunches());
    times->upload_us = uploaded - start;
    times->compile_us = NowUs() - uploaded;
    return Status();
  }));
  return refused;
}

bool GlExecutable::Has(const fb::Dispatch& dispatch) const {
  return programs_[static_cast<size_t>(dispatch.program())] != nullptr;
}

bool GlExecutable::Compiles(const fb::Dispatch& dispatch, const Group& group) const {
  const fb::Program& program = *plan_.programs()->Get(static_cast<unsigned>(dispatch.program()));
  return device_->programs->WithGroup(program, GroupOf(dispatch), group) != nullptr;
}

Status GlExecutable::MakeBuffer(const fb::Buffer& buffer, GLuint* made) {
  const bool constant = buffer.kind() == fb::BufferKind_Constant;
  gl_.GenBuffers(1, made);
  gl_.BindBuffer(GL_SHADER_STORAGE_BUFFER, *made);
  gl_.BufferData(GL_SHADER_STORAGE_BUFFER, static_cast<GLsizeiptr>(buffer.bytes()),
                 constant ? buffer.data()->data() : nullptr,
                 constant ? GL_STATIC_DRAW : GL_DYNAMIC_COPY);
  return CheckGl(
      gl_, TextOf("make a buffer of %llu bytes", static_cast<unsigned long long>(buffer.bytes()))
               .c_str());
}

Status GlExecutable::MakeImage(const fb::Buffer& buffer, GLuint* made) {
  gl_.GenTextures(1, made);
  gl_.BindTexture(GL_TEXTURE_2D, *made);
  gl_.TexStorage2D(GL_TEXTURE_2D, 1, FormatOf(buffer.cell()), buffer.width(), buffer.height());
  // Pixels are fetched as they are; a float texture with another filter reads as zeros.
  gl_.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  gl_.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  return CheckGl(
      gl_, TextOf("make an image of %d x %d pixels", buffer.width(), buffer.height()).c_str());
}

GlExecutable::Port GlExecutable::PortOf(const fb::Io& io) const {
  return PortOf(*plan_.tensors()->Get(static_cast<unsigned>(io.tensor())));
}

GlExecutable::Port GlExecutable::PortOf(const fb::Tensor& tensor) const {
  Port port;
  port.buffer = buffers_[static_cast<size_t>(tensor.buffer())];
  port.offset = static_cast<GLintptr>(tensor.offset());
  port.bytes = static_cast<GLsizeiptr>(tensor.bytes());
  const fb::Buffer& buffer = *plan_.buffers()->Get(static_cast<unsigned>(tensor.buffer()));
  port.is_own =
      buffer.kind() == fb::BufferKind_Io && (tensor.bytes() + 3) / 4 == buffer.bytes() / 4;
  return port;
}

Status GlExecutable::MakeMemory() {
  for (const fb::Buffer* buffer : *plan_.buffers()) {
    buffers_.push_back(0);
    if (buffer->kind() == fb::BufferKind_Image) {
      QUADRA_RETURN_IF_ERROR(MakeImage(*buffer, &buffers_.back()));
    } else if (buffer->bytes() > 0) {
      QUADRA_RETURN_IF_ERROR(MakeBuffer(*buffer, &buffers_.back()));
    }
  }
  for (const fb::Io* io : *plan_.inputs()) inputs_.push_back(PortOf(*io));
  for (const fb::Io* io : *plan_.outputs()) outputs_.push_back(PortOf(*io));
  for (size_t i = 0; i < inputs_.size() + outputs_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (PortAt(i)->buffer == PortAt(j)->buffer) PortAt(i)->is_own = PortAt(j)->is_own = false;
    }
  }
  return Status();
}

GLuint GlExecutable::TexelsOf(const fb::Arg& arg) {
  for (const Texels& known : texels_) {
    if (known.region == arg.index() && known.view == arg.view()) return known.texture;
  }
  const fb::Region& region = *plan_.regions()->Get(static_cast<unsigned>(arg.index()));
  Texels made = {arg.index(), arg.view(), 0};
  gl_.GenTextures(1, &made.texture);
  View(made, buffers_[static_cast<size_t>(region.buffer())]);
  texels_.push_back(made);
  return made.texture;
}

// The texture shows its region of this buffer.
void GlExecutable::View(const Texels& texels, GLuint buffer) const {
  const fb::Region& region = *plan_.regions()->Get(static_cast<unsigned>(texels.region));
  gl_.BindTexture(GL_TEXTURE_BUFFER_EXT, texels.texture);
  gl_.TexBufferRange(GL_TEXTURE_BUFFER_EXT, FormatOf(texels.view), buffer,
                     static_cast<GLintptr>(region.offset()),
                     static_cast<GLsizeiptr>(region.bytes()));
}

void GlExecutable::Bind(const fb::Arg& arg, Launch* launch) {
  const fb::Region& region = *plan_.regions()->Get(static_cast<unsigned>(arg.index()));
  const fb::Buffer& buffer = *plan_.buffers()->Get(static_cast<unsigned>(region.buffer()));
  Binding binding;
  if (arg.view() != fb::View_Memory) {
    binding.format = FormatOf(arg.view());
    binding.object = TexelsOf(arg);
    launch->images.push_back(binding);
    return;
  }
  binding.object = buffers_[static_cast<size_t>(region.buffer())];
  if (buffer.kind() != fb::BufferKind_Image) {
    binding.offset = static_cast<GLintptr>(region.offset());
    binding.bytes = static_cast<GLsizeiptr>(region.bytes());
    launch->buffers.push_back(binding);
    return;
  }
  binding.format = FormatOf(buffer.cell());
  binding.access = GL_WRITE_ONLY;
  (arg.written() ? launch->images : launch->textures).push_back(binding);
}

// Appends the dispatch's numbers to `numbers`, where a binding may begin.
Status GlExecutable::MakeLaunch(const fb::Dispatch& dispatch, std::vector<int32_t>* numbers) {
  if (static_cast<unsigned>(dispatch.program()) >= programs_.size()) {
    return Internal("the plan has no program %d", dispatch.program());
  }
  launches_.emplace_back();
  Launch& launch = launches_.back();
  launch.program = programs_[static_cast<size_t>(dispatch.program())]->id();
  const size_t step =
      static_cast<size_t>(device_->context->uniform_alignment_bytes) / sizeof(int32_t);
  numbers->resize((numbers->size() + step - 1) / step * step);
  launch.numbers = static_cast<GLintptr>(numbers->size() * sizeof(int32_t));
  for (const fb::Arg* arg : *dispatch.args()) {
    if (arg->kind() == fb::ArgKind_Buffer) {
      Bind(*arg, &launch);
      continue;
    }
    int32_t bits = arg->int_value();
    const float real = arg->float_value();
    if (arg->kind() == fb::ArgKind_Float) memcpy(&bits, &real, sizeof(bits));
    numbers->push_back(bits);
  }
  // The block's size is a multiple of sixteen bytes.
  numbers->resize((numbers->size() + 3) / 4 * 4);
  launch.numbers_bytes =
      static_cast<GLsizeiptr>(numbers->size() * sizeof(int32_t)) - launch.numbers;
  for (unsigned i = 0; i < 3; ++i) {
    launch.groups[i] = static_cast<GLuint>(dispatch.global()->Get(i) / dispatch.local()->Get(i));
  }
  return Status();
}

Status GlExecutable::MakeLaunches() {
  std::vector<int32_t> numbers;
  launches_.reserve(Count(plan_.dispatches()));
  for (const fb::Dispatch* dispatch : *plan_.dispatches()) {
    QUADRA_RETURN_IF_ERROR(MakeLaunch(*dispatch, &numbers));
    const auto raise = [](size_t* most, const std::vector<Binding>& used) {
      *most = std::max(*most, used.size());
    };
    raise(&uses_.buffers, launches_.back().buffers);
    raise(&uses_.textures, launches_.back().textures);
    raise(&uses_.images, launches_.back().images);
  }
  gl_.GenBuffers(1, &numbers_);
  gl_.BindBuffer(GL_UNIFORM_BUFFER, numbers_);
  gl_.BufferData(GL_UNIFORM_BUFFER, static_cast<GLsizeiptr>(numbers.size() * sizeof(int32_t)),
                 numbers.data(), GL_STATIC_DRAW);
  return CheckGl(gl_, "make a buffer for the numbers of the dispatches");
}

Status GlExecutable::Write(const Port& port, const void* from) {
  if (port.bytes == 0 || port.bound) return Status();
  gl_.BindBuffer(GL_SHADER_STORAGE_BUFFER, port.buffer);
  void* to = gl_.MapBufferRange(GL_SHADER_STORAGE_BUFFER, port.offset, port.bytes,
                                GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_RANGE_BIT);
  if (!to) return GlFailed(gl_, "map an input");
  memcpy(to, from, static_cast<size_t>(port.bytes));
  if (gl_.UnmapBuffer(GL_SHADER_STORAGE_BUFFER)) return Status();
  QUADRA_RETURN_IF_ERROR(CheckGl(gl_, "write an input"));
  return DeviceFailed("write an input: the driver lost the memory; next: invoke again");
}

Status GlExecutable::Read(const Port& port, void* to) {
  if (port.bytes == 0 || port.bound) return Status();
  gl_.BindBuffer(GL_SHADER_STORAGE_BUFFER, port.buffer);
  const void* from =
      gl_.MapBufferRange(GL_SHADER_STORAGE_BUFFER, port.offset, port.bytes, GL_MAP_READ_BIT);
  if (!from) return GlFailed(gl_, "map an output");
  memcpy(to, from, static_cast<size_t>(port.bytes));
  if (gl_.UnmapBuffer(GL_SHADER_STORAGE_BUFFER)) return Status();
  QUADRA_RETURN_IF_ERROR(CheckGl(gl_, "read an output"));
  return DeviceFailed("read an output: the driver lost the memory; next: invoke again");
}

void GlExecutable::BindLaunch(const GlApi& gl, const Launch& launch) const {
  gl.UseProgram(launch.program);
  if (launch.numbers_bytes > 0) {
    gl.BindBufferRange(GL_UNIFORM_BUFFER, 0, numbers_, launch.numbers, launch.numbers_bytes);
  }
  for (GLuint i = 0; i < launch.buffers.size(); ++i) {
    const Binding& b = launch.buffers[i];
    gl.BindBufferRange(GL_SHADER_STORAGE_BUFFER, i, Resolve(b.object), b.offset, b.bytes);
  }
  for (GLuint i = 0; i < launch.textures.size(); ++i) {
    gl.ActiveTexture(GL_TEXTURE0 + i);
    gl.BindTexture(GL_TEXTURE_2D, launch.textures[i].object);
  }
  for (GLuint i = 0; i < launch.images.size(); ++i) {
    const Binding& b = launch.images[i];
    gl.BindImageTexture(i, b.object, 0, GL_FALSE, 0, b.access, b.format);
  }
}

void GlExecutable::Dispatch(const Launch& launch) {
  BindLaunch(gl_, launch);
  gl_.DispatchCompute(launch.groups[0], launch.groups[1], launch.groups[2]);
  gl_.MemoryBarrier(kKernelBarrier);
}

Status GlExecutable::DispatchAll() {
  const auto every = static_cast<size_t>(device_->context->info.flush_every);
  for (size_t i = 0; i < launches_.size(); ++i) {
    Dispatch(launches_[i]);
    QUADRA_RETURN_IF_ERROR(TakeAfter(i, plan_));
    if (every > 0 && (i + 1) % every == 0) gl_.Flush();
  }
  return Status();
}

Status GlExecutable::ReadCopy(const fb::Tensor& from, void* to) {
  gl_.MemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
  return Read(PortOf(from), to);
}

// Until all that was dispatched has been done, or so long.
GLenum GlExecutable::PollGpu(int64_t most_ms) {
  constexpr int64_t kWaitMs = 1000;
  const GLsync fence = gl_.FenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
  if (!fence) return GL_WAIT_FAILED;
  GLenum answer = GL_TIMEOUT_EXPIRED;
  for (int64_t left = most_ms; left > 0 && answer == GL_TIMEOUT_EXPIRED; left -= kWaitMs) {
    answer = gl_.ClientWaitSync(fence, GL_SYNC_FLUSH_COMMANDS_BIT,
                                static_cast<GLuint64>(std::min(left, kWaitMs)) * 1000000);
  }
  gl_.DeleteSync(fence);
  return answer;
}

Status GlExecutable::WaitForGpu() {
  const GLenum answer = PollGpu(kMostS * int64_t{1000});
  if (answer == GL_TIMEOUT_EXPIRED) {
    return DeviceFailed(
        "wait for the kernels: not done after %d s; next: a smaller model, or backend=opencl",
        kMostS);
  }
  return answer == GL_WAIT_FAILED ? GlFailed(gl_, "wait for the kernels") : Status();
}

// By the driver's timers where it has them; else each dispatch is waited for, which costs it the
// time of a round trip.
Status GlExecutable::Profile(const std::vector<const void*>& inputs, size_t first, size_t count,
                             RunTimes* times) {
  if (device_->context->info.has_timer_queries) {
    QUADRA_RETURN_IF_ERROR(ProfileByTimers(first, count, times));
    if (!times->dispatches.empty()) return Status();
    // Their memory has served for other tensors since.
    if (!inputs.empty()) QUADRA_RETURN_IF_ERROR(WriteAll(inputs));
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

Status GlExecutable::WriteAll(const std::vector<const void*>& inputs) {
  for (size_t i = 0; i < inputs_.size(); ++i) QUADRA_RETURN_IF_ERROR(Write(inputs_[i], inputs[i]));
  return Status();
}

Status GlExecutable::RunHere(const std::vector<const void*>& inputs,
                             const std::vector<void*>& outputs, RunTimes* times) {
  if (times) times->at_ns[RunTimes::kBegun] = NowNs();
  QUADRA_RETURN_IF_ERROR(WriteAll(inputs));
  if (times) {
    times->dispatches.clear();
    QUADRA_RETURN_IF_ERROR(Profile(inputs, 0, launches_.size(), times));
  } else {
    QUADRA_RETURN_IF_ERROR(DispatchAll());
  }
  gl_.MemoryBarrier(has_bound_ ? GL_ALL_BARRIER_BITS : GL_BUFFER_UPDATE_BARRIER_BIT);
  QUADRA_RETURN_IF_ERROR(WaitForGpu());
  for (size_t i = 0; i < outputs_.size(); ++i)
    QUADRA_RETURN_IF_ERROR(Read(outputs_[i], outputs[i]));
  if (times) times->at_ns[RunTimes::kRead] = NowNs();
  return CheckGl(gl_, "run the kernels");
}

Status GlExecutable::Run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                         RunTimes* times) {
  if (inputs.size() != inputs_.size() || outputs.size() != outputs_.size()) {
    return Internal("%zu inputs and %zu outputs for a plan that has %zu and %zu", inputs.size(),
                    outputs.size(), inputs_.size(), outputs_.size());
  }
  // What the caller's own context still has to do may be with buffers that are ours now, too.
  if (has_bound_ && device_->context->egl.GetCurrentContext() != EGL_NO_CONTEXT) gl_.Finish();
  return Do([&] { return RunHere(inputs, outputs, times); });
}

int64_t GlExecutable::copied_bytes() const {
  int64_t copied = 0;
  for (const std::vector<Port>* ports : {&inputs_, &outputs_}) {
    for (const Port& port : *ports) copied += port.bound ? 0 : port.bytes;
  }
  return copied;
}

std::vector<ProgramBinary> GlExecutable::Binaries() {
  std::vector<ProgramBinary> binaries;
  const Status status = device_->thread.Do([&] {
    for (const GlProgramPtr& program : programs_) {
      binaries.push_back(device_->programs->BinaryOf(*program));
    }
    return Status();
  });
  static_cast<void>(status);
  return binaries;
}

}  // namespace quadra
