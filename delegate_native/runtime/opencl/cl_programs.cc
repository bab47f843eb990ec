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

std::vector<KernelHead> HeadsOf(const std::vector<const fb::Kernel*>& kernels) {
  std::vector<KernelHead> heads;
  for (const fb::Kernel* kernel : kernels) {
    heads.push_back({Text(kernel->entry()), {}});
    if (!kernel->parameters()) continue;
    for (const flatbuffers::String* one : *kernel->parameters()) {
      heads.back().parameters.push_back(one->str());
    }
  }
  return heads;
}

bool Holds(const ClBuiltProgram& built, const std::string& entry) {
  return std::any_of(built.kernels.begin(), built.kernels.end(),
                     [&](const KernelHead& head) { return head.entry == entry; });
}

// Whether its kernels are those of the plan's program, in the same order.
bool IsWhole(const ClBuiltProgram& built, const fb::Program& program) {
  return std::equal(built.kernels.begin(), built.kernels.end(), program.kernels()->begin(),
                    program.kernels()->end(), [](const KernelHead& head, const fb::Kernel* kernel) {
                      return head.entry == kernel->entry()->c_str();
                    });
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

std::vector<uint8_t> ClPrograms::BytesOf(const ClBuiltProgram& built) const {
  const ClApi& cl = context_->api;
  std::vector<uint8_t> bytes;
  size_t size = 0;
  if (cl.GetProgramInfo(built.program.get(), CL_PROGRAM_BINARY_SIZES, sizeof(size), &size,
                        nullptr) != CL_SUCCESS) {
    return bytes;
  }
  bytes.resize(size);
  unsigned char* to = bytes.data();
  if (size == 0 || cl.GetProgramInfo(built.program.get(), CL_PROGRAM_BINARIES, sizeof(to),
                                     static_cast<void*>(&to), nullptr) != CL_SUCCESS) {
    bytes.clear();
  }
  return bytes;
}

void ClPrograms::AddBinaries(const fb::Program& program, const ClKernelPrograms& programs,
                             std::vector<ProgramBinary>* binaries) const {
  std::vector<const ClBuiltProgram*> parts;
  for (const fb::Kernel* kernel : *program.kernels()) {
    const auto found = programs.find(kernel->entry()->str());
    const ClBuiltProgram* part = found == programs.end() ? nullptr : found->second.get();
    if (part && std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
  }
  const size_t before = binaries->size();
  for (const ClBuiltProgram* part : parts) {
    ProgramBinary binary;
    binary.bytes = BytesOf(*part);
    if (!IsWhole(*part, program)) binary.kernels = part->kernels;
    binary.is_more = binaries->size() > before;
    binaries->push_back(std::move(binary));
  }
  if (parts.empty()) binaries->emplace_back();
}

// A kernel that no other plan had compiled.
struct ClPrograms::Missing {
  const fb::Kernel* kernel;
  std::string key;
};

// The program becomes that of the missing kernels which it holds.
void ClPrograms::Give(const ClProgram& built, std::vector<Missing>* missing,
                      ClKernelPrograms* programs) {
  const auto last = std::remove_if(missing->begin(), missing->end(), [&](const Missing& one) {
    const std::string entry = Text(one.kernel->entry());
    if (!Holds(*built, entry)) return false;
    (*programs)[entry] = built;
    Remember(one.key, built);
    return true;
  });
  missing->erase(last, missing->end());
}

// A binary that has some of them.
void ClPrograms::TakeKept(const fb::Program& program, const fb::ProgramBinary& kept,
                          std::vector<Missing>* missing, ClKernelPrograms* programs,
                          BinaryCount* count) {
  const auto built = std::make_shared<ClBuiltProgram>();
  const auto* held = kept.kernels() ? kept.kernels() : program.kernels();
  const std::vector<const fb::Kernel*> kernels(held->begin(), held->end());
  built->kernels = HeadsOf(kernels);
  const bool is_needed = std::any_of(missing->begin(), missing->end(), [&](const Missing& one) {
    return Holds(*built, Text(one.kernel->entry()));
  });
  if (!is_needed) return;
  built->program = FromBinary(kept, Text(program.options()));
  ++(built->program ? count->loaded : count->refused);
  if (!built->program) return;
  built->launched = true;  // it was kept after an inference
  if (context_->host) built->common = context_->host->MakeEntry(kernels);
  Give(built, missing, programs);
}

Status ClPrograms::CompileMissing(const fb::Program& program, std::vector<Missing>* missing,
                                  ClKernelPrograms* programs) {
  std::string source = Text(program.prelude()), entries;
  std::vector<const fb::Kernel*> kernels;
  for (const Missing& one : *missing) {
    source += Text(one.kernel->source());
    entries += (entries.empty() ? "" : " ") + Text(one.kernel->entry());
    kernels.push_back(one.kernel);
  }
  const auto built = std::make_shared<ClBuiltProgram>();
  built->kernels = HeadsOf(kernels);
  if (context_->host) built->common = context_->host->MakeEntry(kernels);
  if (built->common) source += built->common->source();
  QUADRA_RETURN_IF_ERROR(Compile(source, Text(program.options()), entries, &built->program));
  Give(built, missing, programs);
  return Status();
}

// Loads or compiles those kernels of the program that no other plan had.
Status ClPrograms::BuildProgram(const fb::Program& program, const fb::Binaries* kept,
                                ClKernelPrograms* programs, BinaryCount* count) {
  const std::string shared = Text(program.options()) + "\n" + Text(program.prelude());
  std::vector<Missing> missing;
  for (const fb::Kernel* kernel : *program.kernels()) {
    std::string key = shared + Text(kernel->source());
    ClProgram known = Find(key);
    if (known) (*programs)[Text(kernel->entry())] = std::move(known);
    else missing.push_back({kernel, std::move(key)});
  }
  for (unsigned i = 0; kept && i < kept->programs()->size(); ++i) {
    const fb::ProgramBinary& binary = *kept->programs()->Get(i);
    if (IsBinaryOf(binary, program)) TakeKept(program, binary, &missing, programs, count);
  }
  if (missing.empty()) return Status();
  ++count->compiled;
  return CompileMissing(program, &missing, programs);
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
      const fb::Program& program = *plan.programs()->Get(static_cast<unsigned>(i));
      if (program.kernels()) results[i] = BuildProgram(program, kept, &parts[i], &counts[i]);
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
