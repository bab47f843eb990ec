#include "delegate_native/session/dump.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "delegate_native/plan/plan_generated.h"

namespace quadra {
namespace {

Status Failed(const char* verb, const std::string& path, int error) {
  return Unsupported("%s %s: %s; next: give dump_dir a folder that can be written", verb,
                     path.c_str(), strerror(error));
}

// With its parents. Those that exist may refuse in many ways: what counts is the end.
Status MakeFolder(const std::string& path) {
  int error = 0;
  for (size_t at = 0; at != std::string::npos;) {
    at = path.find('/', at + 1);
    error = mkdir(path.substr(0, at).c_str(), 0777) == 0 ? 0 : errno;
  }
  struct stat found;
  if (stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) return Status();
  return Failed("make the folder", path, error ? error : ENOENT);
}

Status WriteFile(const std::string& path, const void* data, size_t size) {
  FILE* file = fopen(path.c_str(), "wb");
  if (!file) return Failed("write", path, errno);
  errno = 0;
  const bool written = fwrite(data, 1, size, file) == size;
  const int error = errno;
  const bool closed = fclose(file) == 0;
  return written && closed ? Status() : Failed("write", path, written ? errno : error);
}

Status WriteFile(const std::string& path, const std::string& text) {
  return WriteFile(path, text.data(), text.size());
}

Status WriteKernels(const std::string& folder, const fb::Plan& plan) {
  QUADRA_RETURN_IF_ERROR(MakeFolder(folder));
  const char* const ending = plan.api()->str() == "gles" ? ".comp" : ".cl";
  int index = 0;
  for (const fb::Program* program : *plan.programs()) {
    for (const fb::Kernel* kernel : *program->kernels()) {
      const std::string path = folder + Format("/%03d_%s", index++, kernel->name()->c_str());
      QUADRA_RETURN_IF_ERROR(
          WriteFile(path + ending, program->prelude()->str() + kernel->source()->str()));
    }
  }
  return Status();
}

}  // namespace

Status DumpBinaries(const std::string& folder, const std::vector<uint8_t>& binaries) {
  return WriteFile(folder + "/binaries.quadra", binaries.data(), binaries.size());
}

Status DumpTensor(const std::string& folder, unsigned tensor, const std::vector<int32_t>& numbers) {
  return WriteFile(folder + Format("/tensor_%04u.bin", tensor), numbers.data(), numbers.size() * 4);
}

Status Dump(const std::string& folder, const Graph& before, const Graph* after,
            const PlanBytes& plan) {
  QUADRA_RETURN_IF_ERROR(MakeFolder(folder));
  QUADRA_RETURN_IF_ERROR(WriteFile(folder + "/graph.txt", Print(before)));
  QUADRA_RETURN_IF_ERROR(WriteFile(
      folder + "/graph.opt.txt",
      after ? Print(*after) : "# the plan came from the cache of compiled models: no pass ran\n"));
  QUADRA_RETURN_IF_ERROR(WriteFile(folder + "/plan.quadra", plan.data(), plan.size()));
  return WriteKernels(folder + "/kernels", *fb::GetPlan(plan.data()));
}

}  // namespace quadra
