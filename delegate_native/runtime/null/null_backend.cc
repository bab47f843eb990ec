#include "delegate_native/runtime/null/null_backend.h"

namespace quadra {
namespace {

class NullExecutable : public Executable {
 public:
  Status WriteInput(int, const void*, size_t) override { return Refuse(); }
  Status Run(std::vector<float>*) override { return Refuse(); }
  Status ReadOutput(int, void*, size_t) override { return Refuse(); }

 private:
  static Status Refuse() {
    return quadra::Unsupported("the null backend makes plans and runs none; choose another backend to run");
  }
};

class NullBackend : public Backend {
 public:
  explicit NullBackend(const GpuInfo& info) : info_(info) {}
  const char* name() const override { return "null"; }
  const GpuInfo& info() const override { return info_; }
  Status Load(const fb::Plan*, std::unique_ptr<Executable>* executable, LoadTimes*) override {
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
