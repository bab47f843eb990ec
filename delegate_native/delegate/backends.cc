#include "delegate_native/delegate/backends.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

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

Status MakeBackend(const Options& options, std::shared_ptr<Backend>* backend, GpuInfo* target,
                   std::vector<std::string>* notes) {
  const bool from_file = !options.target.empty();
  if (from_file) QUADRA_RETURN_IF_ERROR(ReadTarget(options.target, target));
  if (options.backend == "null") {
    if (!from_file) {
      target->name = "generic";
      Decide(target);
    }
    *backend = MakeNullBackend(*target);
    return Status();
  }
  if (options.backend == "gles") {
    return Unsupported("the OpenGL ES backend is not part of this version; use backend=opencl");
  }
  const Status status = MakeOpenClBackend(options.opencl_library, backend);
  if (!status.ok()) {
    notes->push_back("opencl: " + status.message());
    return status;
  }
  if (!from_file) {
    *target = (*backend)->info();
  } else {
    // How texts are best compiled is the matter of the driver that compiles them.
    target->one_program = (*backend)->info().one_program;
  }
  return Status();
}

}  // namespace quadra
