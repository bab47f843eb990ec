#include "delegate_native/delegate/backends.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "delegate_native/runtime/gles/gles_backend.h"
#include "delegate_native/runtime/null/null_backend.h"
#include "delegate_native/runtime/opencl/opencl_backend.h"

namespace quadra {
namespace {

Status ReadFile(const std::string& path, std::string* text) {
  FILE* file = fopen(path.c_str(), "rb");
  if (!file) return InvalidModel("target file %s: %s", path.c_str(), strerror(errno));
  char block[4096];
  for (size_t n; (n = fread(block, 1, sizeof(block), file)) > 0;) text->append(block, n);
  const bool failed = ferror(file) != 0;
  fclose(file);
  if (failed) return InvalidModel("target file %s: reading failed", path.c_str());
  return Status();
}

Status ReadTarget(const std::string& path, GpuInfo* target) {
  std::string text;
  QUADRA_RETURN_IF_ERROR(ReadFile(path, &text));
  const Status status = ParseGpuInfo(text, target);
  if (!status.ok()) {
    return Status(status.code(), "target file " + path + ": " + status.message());
  }
  return Status();
}

}  // namespace

std::vector<std::string> BackendsToTry(const Options& options) {
  if (options.backend == "auto") return {"opencl", "gles"};
  return {options.backend};
}

Status OpenGpu(const Options& options, const std::string& backend, Gpu* gpu) {
  const bool from_file = !options.target.empty();
  if (from_file) QUADRA_RETURN_IF_ERROR(ReadTarget(options.target, &gpu->target));
  if (backend == "null") {
    if (!from_file) {
      gpu->target.name = "generic";
      Decide(&gpu->target);
    }
    gpu->backend = MakeNullBackend(gpu->target);
    return Status();
  }
  if (backend == "gles") {
    QUADRA_RETURN_IF_ERROR(MakeGlesBackend(options.egl_library, &gpu->backend));
  } else {
    QUADRA_RETURN_IF_ERROR(MakeOpenClBackend(options.opencl_library, &gpu->backend));
  }
  if (from_file) {
    RunOn(gpu->backend->info(), &gpu->target);
  } else {
    gpu->target = gpu->backend->info();
  }
  return Status();
}

}  // namespace quadra
