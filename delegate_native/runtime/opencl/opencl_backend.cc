#include "delegate_native/runtime/opencl/opencl_backend.h"

#include <map>
#include <utility>

#include "delegate_native/base/lean/clock.h"
#include "delegate_native/base/lean/mutex.h"
#include "delegate_native/runtime/fork_guard.h"
#include "delegate_native/runtime/opencl/cl_context.h"
#include "delegate_native/runtime/opencl/cl_executable.h"
#include "delegate_native/runtime/opencl/cl_import.h"
#include "delegate_native/runtime/opencl/cl_memory.h"
#include "delegate_native/runtime/opencl/cl_programs.h"

namespace quadra {
namespace {

class OpenClBackend : public Backend {
 public:
  explicit OpenClBackend(std::shared_ptr<ClContext> context)
      : context_(std::move(context)), programs_(std::make_shared<ClPrograms>(context_)) {}

  const char* name() const override { return "opencl"; }
  const GpuInfo& info() const override { return context_->info; }
  Contexts contexts() const override {
    return {context_->platform, context_->device, context_->context.get()};
  }
  Takes takes() const override { return Takes::kClMem; }
  Status MakeMemory(size_t bytes, void* object, std::unique_ptr<DeviceMemory>* memory) override {
    QUADRA_RETURN_IF_ERROR(home_.Check("OpenCL"));
    return MakeClMemory(context_, bytes, static_cast<cl_mem>(object), memory);
  }
  Status Import(SystemMemory::Kind kind, void* handle, size_t bytes,
                std::unique_ptr<SystemMemory>* memory) const override {
    QUADRA_RETURN_IF_ERROR(home_.Check("OpenCL"));
    return ImportClMemory(context_.get(), kind, handle, bytes, memory);
  }
  bool is_lost() const { return context_->lost; }

  Status Load(const fb::Plan* plan, const PlanWeights& weights, const fb::Binaries* kept,
              std::unique_ptr<Executable>* executable, LoadTimes* times) override {
    QUADRA_RETURN_IF_ERROR(home_.Check("OpenCL"));
    auto made = std::make_unique<ClExecutable>(context_, plan);
    const int64_t start = NowUs();
    QUADRA_RETURN_IF_ERROR(made->MakeMemory(weights, &times->refusal));
    const int64_t uploaded = NowUs();
    ClKernelPrograms programs;
    Status built = programs_->Build(*plan, kept, &programs, &times->binaries);
    if (!built.ok()) times->refusal = made->FindRefused(programs, *programs_);
    QUADRA_RETURN_IF_ERROR(std::move(built));
    QUADRA_RETURN_IF_ERROR(made->MakeKernels(std::move(programs), programs_, &times->refusal));
    times->upload_us = uploaded - start;
    times->compile_us = NowUs() - uploaded;
    *executable = std::move(made);
    return Status();
  }

 private:
  const ForkGuard home_;
  std::shared_ptr<ClContext> context_;
  std::shared_ptr<ClPrograms> programs_;
};

}  // namespace

Status MakeOpenClBackend(const std::string& library, const Contexts& shared,
                         std::shared_ptr<Backend>* backend) {
  // Never destroyed: a static of the process may be gone before the last interpreter is.
  static Mutex& mutex = *new Mutex;
  static auto& backends = *new std::map<std::string, std::weak_ptr<OpenClBackend>>;
  static auto& kept = *new std::map<std::string, std::shared_ptr<Backend>>;
  static const ForkGuard home;
  QUADRA_RETURN_IF_ERROR(home.Check("OpenCL"));
  const MutexLock lock(&mutex);
  void* given = shared.cl_context;
  std::shared_ptr<OpenClBackend> known = backends[library].lock();
  // Someone may hand the delegates' own context back.
  if (known && known->contexts().cl_context == given) given = nullptr;
  const std::string key = given ? library + Format("@%p", given) : library;
  if (given) known = backends[key].lock();
  if (!known || known->is_lost()) {
    kept.erase(key);
    std::shared_ptr<ClContext> context;
    QUADRA_RETURN_IF_ERROR(MakeClContext(library, static_cast<cl_context>(given), &context));
    known = std::make_shared<OpenClBackend>(std::move(context));
    backends[key] = known;
    // Half a second of such a compiler's start belongs to the context: the process keeps it.
    if (known->info().one_program && !given) kept[key] = known;
  }
  *backend = std::move(known);
  return Status();
}

}  // namespace quadra
