#include "delegate_native/delegate/backends.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "delegate_native/runtime/gles/gles_backend.h"
#include "delegate_native/runtime/null/null_backend.h"
#include "delegate_native/runtime/opencl/opencl_backend.h"

namespace quadra {
namespace {

Status ReadFile(const std::string& path, std::string* text) {
  FILE* file = fopen(path.c_str(), "rb");
  if (!file) return InvalidModel("%s", strerror(errno));
  char block[4096];
  for (size_t n; (n = fread(block, 1, sizeof(block), file)) > 0;) text->append(block, n);
  const bool failed = ferror(file) != 0;
  fclose(file);
  if (failed) return InvalidModel("it cannot be read");
  return Status();
}

}  // namespace

Status ReadTarget(const Options& options, std::unique_ptr<GpuInfo>* target) {
  target->reset();
  if (options.target.empty()) return Status();
  std::string text;
  auto read = std::make_unique<GpuInfo>();
  Status status = ReadFile(options.target, &text);
  if (status.ok()) status = ParseGpuInfo(text, read.get());
  if (!status.ok()) {
    return Status(status.code(),
                  "read the target file " + options.target + ": " + status.message() +
                      "; next: fix the file, or omit the option target to plan for this device");
  }
  *target = std::move(read);
  return Status();
}

std::vector<std::string> BackendsToTry(const Options& options) {
  if (options.backend == "auto") return {"opencl", "gles"};
  return {options.backend};
}

Status OpenGpu(const Options& options, const std::string& backend, const Contexts& shared,
               const GpuInfo* target, Gpu* gpu) {
  if (target) gpu->target = *target;
  gpu->weights = std::make_shared<WeightStore>();
  if (backend == "null") {
    if (!target) {
      gpu->target.name = "generic";
      DecideTarget(&gpu->target);
    }
    gpu->backend = MakeNullBackend(gpu->target);
  } else {
    QUADRA_RETURN_IF_ERROR(backend == "gles"
                               ? MakeGlesBackend(options.egl_library, shared, &gpu->backend)
                               : MakeOpenClBackend(options.opencl_library, shared, &gpu->backend));
    if (target) RunOn(gpu->backend->info(), &gpu->target);
    else gpu->target = gpu->backend->info();
  }
  // Winograd's sums lose a digit or so.
  if (options.is_precision_loss_allowed == 0) gpu->target.winograd_channels = GpuInfo::kNever;
  return Status();
}

Status MakeOpenClMemory(void* context, void* object, size_t bytes,
                        std::shared_ptr<Backend>* backend, std::unique_ptr<DeviceMemory>* memory) {
  Contexts shared;
  shared.cl_context = context;
  QUADRA_RETURN_IF_ERROR(MakeOpenClBackend("", shared, backend));
  return (*backend)->MakeMemory(bytes, object, memory);
}

}  // namespace quadra
