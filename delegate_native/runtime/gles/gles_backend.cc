#include "delegate_native/runtime/gles/gles_backend.h"

#include <map>
#include <utility>

#include "delegate_native/base/lean/mutex.h"
#include "delegate_native/runtime/gles/gl_executable.h"
#include "delegate_native/runtime/gles/gl_memory.h"

namespace quadra {
namespace {

class GlesBackend : public Backend {
 public:
  explicit GlesBackend(std::shared_ptr<GlDevice> device)
      : device_(std::move(device)), info_(device_->context->info) {}

  const char* name() const override { return "gles"; }
  const GpuInfo& info() const override { return info_; }
  Contexts contexts() const override { return device_->context->contexts(); }
  Takes takes() const override {
    return device_->context->is_shared() ? Takes::kGlBuffer : Takes::kNothing;
  }
  Status MakeMemory(size_t bytes, void* object, std::unique_ptr<DeviceMemory>* memory) override {
    return object ? Backend::MakeMemory(bytes, object, memory)
                  : MakeGlMemory(device_, bytes, memory);
  }
  bool is_lost() const { return device_->context->gl.lost; }

  Status Load(const fb::Plan* plan, const PlanWeights& weights, const fb::Binaries* kept,
              std::unique_ptr<Executable>* executable, LoadTimes* times) override {
    auto made = std::make_unique<GlExecutable>(device_, plan);
    QUADRA_RETURN_IF_ERROR(made->Load(weights, kept, times));
    *executable = std::move(made);
    return Status();
  }

 private:
  std::shared_ptr<GlDevice> device_;
  const GpuInfo info_;
};

}  // namespace

Status MakeGlesBackend(const std::string& library, const Contexts& shared,
                       std::shared_ptr<Backend>* backend) {
  // Never destroyed: a static of the process may be gone before the last interpreter is.
  static Mutex& mutex = *new Mutex;
  static auto& backends = *new std::map<std::string, std::weak_ptr<GlesBackend>>;
  static const ForkGuard home;
  QUADRA_RETURN_IF_ERROR(home.Check("OpenGL ES"));
  const MutexLock lock(&mutex);
  // An app's context may go and the next one get its address: each delegate shares anew.
  std::shared_ptr<GlesBackend> known;
  if (!shared.egl_context) known = backends[library].lock();
  if (!known || known->is_lost()) {
    std::shared_ptr<GlDevice> device = GlDevice::Make();
    QUADRA_RETURN_IF_ERROR(device->Open(library, shared));
    known = std::make_shared<GlesBackend>(std::move(device));
    if (!shared.egl_context) backends[library] = known;
  }
  *backend = std::move(known);
  return Status();
}

}  // namespace quadra
