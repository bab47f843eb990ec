#include "delegate_native/runtime/gles/gl_executable.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "delegate_native/base/lean/clock.h"

namespace quadra {
namespace {

constexpr int kMostS = 60;  // for the kernels
// A kernel sees what the one before wrote, in each of these ways.
constexpr GLbitfield kKernelBarrier = GL_SHADER_STORAGE_BARRIER_BIT |
                                      GL_SHADER_IMAGE_ACCESS_BARRIER_BIT |
                                      GL_TEXTURE_FETCH_BARRIER_BIT;

}  // namespace

GlExecutable::GlExecutable(std::shared_ptr<GlDevice> device, const fb::Plan* plan)
    : device_(std::move(device)), gl_(device_->context->gl), plan_(*plan), memory_(gl_, *plan) {}

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
  memory_.Free();
  gl_.DeleteBuffers(1, &numbers_);
  programs_.clear();
  timed_program_.reset();
}

Status GlExecutable::Load(const PlanWeights& weights, const fb::Binaries* kept, LoadTimes* times) {
  Status refused;  // by the compiler, which spoils nothing that is loaded
  QUADRA_RETURN_IF_ERROR(Do([&] {
    const int64_t start = NowUs();
    times->refusal.stage = Refusal::Stage::kMemory;
    QUADRA_RETURN_IF_ERROR(memory_.Make(weights));
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

void GlExecutable::Bind(const fb::Arg& arg, Launch* launch) {
  const fb::Region& region = *plan_.regions()->Get(static_cast<unsigned>(arg.index()));
  const fb::Buffer& buffer = *plan_.buffers()->Get(static_cast<unsigned>(region.buffer()));
  Binding binding;
  if (arg.view() != fb::View_Memory) {
    binding.format = FormatOf(arg.view());
    binding.object = memory_.TexelsOf(arg);
    launch->images.push_back(binding);
    return;
  }
  binding.object = memory_.buffer(region.buffer());
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

void GlExecutable::BindLaunch(const GlApi& gl, const Launch& launch) const {
  gl.UseProgram(launch.program);
  if (launch.numbers_bytes > 0) {
    gl.BindBufferRange(GL_UNIFORM_BUFFER, 0, numbers_, launch.numbers, launch.numbers_bytes);
  }
  for (GLuint i = 0; i < launch.buffers.size(); ++i) {
    const Binding& b = launch.buffers[i];
    gl.BindBufferRange(GL_SHADER_STORAGE_BUFFER, i, memory_.Resolve(b.object), b.offset, b.bytes);
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
    QUADRA_RETURN_IF_ERROR(ObserveAfter(i, plan_));
    if (every > 0 && (i + 1) % every == 0) gl_.Flush();
  }
  return Status();
}

Status GlExecutable::ReadCopy(const fb::Tensor& from, void* to) {
  gl_.MemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
  return memory_.Read(from, to);
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

Status GlExecutable::RunHere(const std::vector<const void*>& inputs,
                             const std::vector<void*>& outputs, RunTimes* times) {
  if (times) times->at_ns[RunTimes::kBegun] = NowNs();
  QUADRA_RETURN_IF_ERROR(memory_.Write(inputs));
  if (times) {
    times->dispatches.clear();
    QUADRA_RETURN_IF_ERROR(Profile(inputs, 0, launches_.size(), times));
  } else {
    QUADRA_RETURN_IF_ERROR(DispatchAll());
  }
  gl_.MemoryBarrier(memory_.has_bound() ? GL_ALL_BARRIER_BITS : GL_BUFFER_UPDATE_BARRIER_BIT);
  QUADRA_RETURN_IF_ERROR(WaitForGpu());
  QUADRA_RETURN_IF_ERROR(memory_.Read(outputs));
  if (times) times->at_ns[RunTimes::kRead] = NowNs();
  return CheckGl(gl_, "run the kernels");
}

Status GlExecutable::Run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                         RunTimes* times) {
  QUADRA_RETURN_IF_ERROR(CheckCounts(plan_, inputs.size(), outputs.size()));
  // Commands that the caller's own context still has to do may be with buffers that are ours now,
  // too.
  if (memory_.has_bound() && device_->context->egl.GetCurrentContext() != EGL_NO_CONTEXT)
    gl_.Finish();
  return Do([&] { return RunHere(inputs, outputs, times); });
}

// Nothing that is loaded is invalidated by a buffer that is refused.
Status GlExecutable::Bind(const PortObjects& objects) {
  return device_->thread.Do([&] {
    QUADRA_RETURN_IF_ERROR(TakeBindings());
    return memory_.Bind(objects);
  });
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
