#include "delegate_native/runtime/opencl/cl_programs.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "delegate_native/base/lean/thread.h"
#include "delegate_native/base/log.h"
#include "delegate_native/runtime/backend.h"

namespace quadra {
namespace {

constexpr size_t kMostKept = 256;  // kernels; those in use are kept beyond that
constexpr size_t kMostThreads = 4;
constexpr size_t kMostLog = 4000;

std::string Text(const flatbuffers::String* text) { return text ? text->str() : std::string(); }

std::string BuildLog(const ClContext& context, cl_program program) {
  size_t size = 0;
  const auto read = [&](size_t n, char* to) {
    return context.api.GetProgramBuildInfo(program, context.device, CL_PROGRAM_BUILD_LOG, n, to,
                                           &size);
  };
  if (read(0, nullptr) != CL_SUCCESS || size <= 1) return "(the driver left no log)";
  std::string log(size, '\0');
  if (read(size, &log[0]) != CL_SUCCESS) return "(the driver did not show its log)";
  log.resize(std::min({log.find('\0'), log.size(), kMostLog}));
  return log;
}

// Some compilers know halfs that their device does not have: the device's word counts.
cl_int BuildFor(const ClContext& context, cl_program program, std::string options) {
  if (!context.info.Has("cl_khr_fp16")) options += " -D NO_HALFS";
  return context.api.BuildProgram(program, 1, &context.device, options.c_str(), nullptr, nullptr);
}

}  // namespace

ClProgram ClPrograms::Find(const std::string& key) {
  const MutexLock lock(&mutex_);
  const auto found = built_.find(key);
  return found == built_.end() ? nullptr : found->second;
}

void ClPrograms::Remember(const std::string& key, const ClProgram& program) {
  const MutexLock lock(&mutex_);
  for (auto it = built_.begin(); it != built_.end() && built_.size() >= kMostKept;) {
    it = it->second.use_count() == 1 ? built_.erase(it) : std::next(it);
  }
  built_[key] = program;
}

Status ClPrograms::Compile(const std::string& source, const std::string& options,
                           const std::string& entries, ClHandle<cl_program>* program) const {
  const ClApi& cl = context_->api;
  Log(4, "compile %s\n%s", entries.c_str(), source.c_str());
  const char* text = source.c_str();
  const size_t size = source.size();
  cl_int code = CL_SUCCESS;
  cl_program raw = cl.CreateProgramWithSource(context_->context.get(), 1, &text, &size, &code);
  if (!raw || code != CL_SUCCESS)
    return context_->Failed("give a program's text to the driver", code);
  ClHandle<cl_program> handle(raw, cl.ReleaseProgram);
  code = BuildFor(*context_, raw, options);
  if (MayBeLost(code)) return context_->Failed(Format("compile %s", entries.c_str()).c_str(), code);
  if (code != CL_SUCCESS) {
    return DeviceFailed(
        "compile %s: %s, the driver's log: %s; next: dump_dir keeps the kernels' text for a report",
        entries.c_str(), ClErrorName(code).c_str(), BuildLog(*context_, raw).c_str());
  }
  *program = std::move(handle);
  return Status();
}

// None when the driver refuses it: a binary of another driver, or a damaged one.
ClHandle<cl_program> ClPrograms::FromBinary(const fb::ProgramBinary& binary,
                                            const std::string& options) const {
  const ClApi& cl = context_->api;
  ClHandle<cl_program> handle;
  const unsigned char* bytes = binary.bytes()->data();
  const size_t size = binary.bytes()->size();
  cl_int code = CL_SUCCESS, of_device = CL_SUCCESS;
  cl_program raw = cl.CreateProgramWithBinary(context_->context.get(), 1, &context_->device, &size,
                                              &bytes, &of_device, &code);
  if (raw) handle = ClHandle<cl_program>(raw, cl.ReleaseProgram);
  if (raw && code == CL_SUCCESS && of_device == CL_SUCCESS &&
      BuildFor(*context_, raw, options) == CL_SUCCESS) {
    return handle;
  }
  Log(2, "the driver refused the binary of a program: it is compiled anew");
  return ClHandle<cl_program>();
}

ProgramBinary ClPrograms::BinaryOf(const fb::Program& program,
                                   const ClKernelPrograms& programs) const {
  const ClApi& cl = context_->api;
  ProgramBinary binary;
  ClProgram built;
  for (const fb::Kernel* kernel : *program.kernels()) {
    const auto found = programs.find(kernel->entry()->str());
    if (found == programs.end() || (built && built != found->second)) return binary;
    built = found->second;
  }
  if (!built || built->kernels != program.kernels()->size()) return binary;
  size_t size = 0;
  if (cl.GetProgramInfo(built->program.get(), CL_PROGRAM_BINARY_SIZES, sizeof(size), &size,
                        nullptr) != CL_SUCCESS) {
    return binary;
  }
  binary.bytes.resize(size);
  unsigned char* to = binary.bytes.data();
  if (size == 0 || cl.GetProgramInfo(built->program.get(), CL_PROGRAM_BINARIES, sizeof(to),
                                     static_cast<void*>(&to), nullptr) != CL_SUCCESS) {
    binary.bytes.clear();
  }
  return binary;
}

// Compiles those kernels of the program that no other plan had compiled.
Status ClPrograms::BuildMissing(const fb::Program& program, const fb::ProgramBinary* kept,
                                ClKernelPrograms* programs, BinaryCount* count) {
  const std::string options = Text(program.options());
  const std::string prelude = Text(program.prelude());
  std::string source = prelude, entries;
  const std::string shared = options + "\n" + prelude;       // by all kernels
  std::vector<std::pair<std::string, std::string>> missing;  // entry, key
  std::vector<const fb::Kernel*> kernels;                    // of those
  for (const fb::Kernel* kernel : *program.kernels()) {
    const std::string entry = Text(kernel->entry());
    const std::string text = Text(kernel->source());
    std::string key = shared + text;
    ClProgram known = Find(key);
    if (known) {
      (*programs)[entry] = std::move(known);
      continue;
    }
    source += text;
    entries += (entries.empty() ? "" : " ") + entry;
    missing.emplace_back(entry, std::move(key));
    kernels.push_back(kernel);
  }
  if (missing.empty()) return Status();
  const auto built = std::make_shared<ClBuiltProgram>();
  ClBuiltProgram& made = *built;
  if (context_->host) made.common = context_->host->MakeEntry(kernels);
  made.kernels = kernels.size();
  if (kernels.size() < program.kernels()->size()) kept = nullptr;  // it holds all of them
  if (kept) made.program = FromBinary(*kept, options);
  made.launched = static_cast<bool>(made.program);  // it was kept after an inference
  ++(made.launched ? count->loaded : count->compiled);
  if (!made.program) {
    if (kept) ++count->refused;
    if (made.common) source += made.common->source();
    QUADRA_RETURN_IF_ERROR(Compile(source, options, entries, &made.program));
  }
  for (const auto& kernel : missing) {
    (*programs)[kernel.first] = built;
    Remember(kernel.second, built);
  }
  return Status();
}

Status ClPrograms::Build(const fb::Plan& plan, const fb::Binaries* kept, ClKernelPrograms* programs,
                         BinaryCount* sum) {
  const size_t count = plan.programs() ? plan.programs()->size() : 0;
  std::vector<ClKernelPrograms> parts(count);
  std::vector<Status> results(count);
  std::vector<BinaryCount> counts(count);
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      const unsigned index = static_cast<unsigned>(i);
      const fb::Program& program = *plan.programs()->Get(index);
      if (!program.kernels()) continue;
      results[i] = BuildMissing(program, KeptBinary(plan, index, kept), &parts[i], &counts[i]);
    }
  };
  const auto help = [](void* job) -> void* {
    (*static_cast<decltype(work)*>(job))();
    return nullptr;
  };
  std::vector<pthread_t> helpers;
  const size_t cores = static_cast<size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  for (size_t i = 1; i < std::min({count, cores, kMostThreads}); ++i) {
    pthread_t helper;
    if (StartThread("quadra-compile", help, &work, &helper) != 0)
      break;  // this thread does it alone
    helpers.push_back(helper);
  }
  work();
  for (pthread_t helper : helpers) pthread_join(helper, nullptr);
  for (const BinaryCount& part : counts) {
    sum->loaded += part.loaded;
    sum->refused += part.refused;
    sum->compiled += part.compiled;
  }
  for (ClKernelPrograms& part : parts) programs->insert(part.begin(), part.end());
  for (Status& result : results) QUADRA_RETURN_IF_ERROR(std::move(result));
  return Status();
}

}  // namespace quadra
