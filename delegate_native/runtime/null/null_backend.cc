#include "delegate_native/runtime/null/null_backend.h"

namespace quadra {
namespace {

class NullExecutable : public Executable {
 public:
  Status Run(const std::vector<const void*>&, const std::vector<void*>&, RunTimes*) override {
    return Unsupported(
        "run a plan: the null backend makes plans and runs none; next: "
        "choose another backend");
  }
};

class NullBackend : public Backend {
 public:
  explicit NullBackend(const GpuInfo& info) : info_(info) {}
  const char* name() const override { return "null"; }
  const GpuInfo& info() const override { return info_; }
  bool runs() const override { return false; }
  Status Load(const fb::Plan*, const PlanWeights&, const fb::Binaries*,
              std::unique_ptr<Executable>* executable, LoadTimes*) override {
    *executable = std::make_unique<NullExecutable>();
    return Status();
  }

 private:
  GpuInfo info_;
};

}  // namespace

std::shared_ptr<Backend> MakeNullBackend(const GpuInfo& info) {
  return std::make_shared<NullBackend>(info);
}

}  // namespace quadra
