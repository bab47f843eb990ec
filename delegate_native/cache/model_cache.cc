#include "delegate_native/cache/model_cache.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "delegate_native/base/content_hash.h"
#include "delegate_native/base/lean/mutex.h"
#include "delegate_native/base/log.h"
#include "delegate_native/base/version.h"
#include "delegate_native/cache/build_id.h"
#include "delegate_native/cache/cache_file.h"
#include "delegate_native/plan/check_plan.h"

namespace quadra {
namespace {

constexpr char kEnding[] = ".quadra", kVerdicts[] = ".verdicts";
constexpr int64_t kAbandonedSeconds = 3600;  // no write takes that long

bool EndsWith(const std::string& text, const char* ending) {
  const size_t size = strlen(ending);
  return text.size() >= size && text.compare(text.size() - size, size, ending) == 0;
}

Status CheckPlanAndBinaries(Part plan, Part binaries) {
  QUADRA_RETURN_IF_ERROR(CheckPlan(plan.data, plan.size));
  return CheckBinaries(binaries.data, binaries.size);
}

Status CheckOnlyVerdicts(Part verdicts, Part) {
  return CheckVerdicts(verdicts.data, verdicts.size);
}

std::string KeyFor(const std::string& content, const std::string& precision, const GpuInfo& target,
                   const GpuInfo& device) {
  return TextOf("library %s, build %s, %d bits\nprecision %s\n", kVersion, BuildId().c_str(),
                static_cast<int>(sizeof(void*)) * 8, precision.c_str()) +
         content + "\ntarget " + ToJson(target) + "\ndevice " + ToJson(device) + "\n";
}

// Those that live objects of this process use.
struct HeldFiles {
  Mutex mutex;
  HeldFile* first = nullptr;
};

// It stays when the process ends: a thread may be writing a file then.
HeldFiles* Held() {
  static HeldFiles* const held = new HeldFiles;
  return held;
}

}  // namespace

HeldFile::HeldFile(std::string path) : path_(std::move(path)) {
  HeldFiles* const held = Held();
  const MutexLock lock(&held->mutex);
  next_ = std::exchange(held->first, this);
}

HeldFile::~HeldFile() {
  HeldFiles* const held = Held();
  const MutexLock lock(&held->mutex);
  HeldFile** at = &held->first;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
}

bool HeldFile::Has(const std::string& path) {
  HeldFiles* const held = Held();
  const MutexLock lock(&held->mutex);
  const HeldFile* one = held->first;
  while (one && one->path_ != path) one = one->next_;
  return one;
}

bool ModelCache::is_on() const { return !folder_.empty() && !BuildId().empty(); }

std::string ModelCache::HashOfGraph(const Graph& graph) {
  ContentHash hash;
  hash.Add(PrintNodes(graph));
  for (const Value& value : graph.values) {
    hash.Add(value.rank);
    if (value.constant) value.constant->AddTo(&hash);
  }
  return hash.hex();
}

std::string ModelCache::KeyOfPlan(const std::string& graph_hash, const std::string& build_options,
                                  const GpuInfo& target, const GpuInfo& device) {
  const auto for_any_driver = [](GpuInfo info) {
    info.driver = info.api_version = "";
    return info;
  };
  return KeyFor("graph " + graph_hash, build_options, for_any_driver(target),
                for_any_driver(device));
}

std::string ModelCache::KeyOfVerdicts(const std::string& model_hash, const std::string& options,
                                      const std::string& precision, const GpuInfo& target,
                                      const GpuInfo& device) {
  return KeyFor("model " + model_hash + "\noptions" + options, precision, target, device);
}

std::string ModelCache::PathOf(const std::string& key, const char* ending) const {
  ContentHash hash;
  hash.Add(key);
  return folder_ + "/" + token_ + "_" + hash.hex() + ending;
}

Status ModelCache::Write(const std::string& path, const std::string& key, Part plan, Part binaries,
                         std::string* removed) const {
  if (mkdir(folder_.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return Unsupported("make the folder %s: %s", folder_.c_str(), strerror(errno));
  }
  QUADRA_RETURN_IF_ERROR(WriteCacheFile(path, key, plan, binaries));
  *removed = Prune(path);
  if (!removed->empty()) Log(1, "cache: %s", removed->c_str());
  return Status();
}

Status ModelCache::Load(const std::string& key, PlanBytes* plan,
                        const fb::Binaries** binaries) const {
  Part part;
  QUADRA_RETURN_IF_ERROR(
      ReadCacheFile(PathOf(key, kEnding), key, CheckPlanAndBinaries, plan, &part));
  *binaries = flatbuffers::GetRoot<fb::Binaries>(part.data);
  return Status();
}

Status ModelCache::Save(const std::string& key, const PlanBytes& plan,
                        const std::vector<uint8_t>& binaries, std::string* removed) const {
  return Write(PathOf(key, kEnding), key, {plan.data(), plan.size()},
               {binaries.data(), binaries.size()}, removed);
}

std::unique_ptr<HeldFile> ModelCache::HoldPlan(const std::string& key) const {
  return std::make_unique<HeldFile>(PathOf(key, kEnding));
}

std::unique_ptr<HeldFile> ModelCache::HoldVerdicts(const std::string& key) const {
  return std::make_unique<HeldFile>(PathOf(key, kVerdicts));
}

Status ModelCache::LoadVerdicts(const std::string& key, PlanBytes* file,
                                const fb::Verdicts** verdicts) const {
  Part none;
  QUADRA_RETURN_IF_ERROR(
      ReadCacheFile(PathOf(key, kVerdicts), key, CheckOnlyVerdicts, file, &none));
  *verdicts = flatbuffers::GetRoot<fb::Verdicts>(file->data());
  return Status();
}

Status ModelCache::SaveVerdicts(const std::string& key, Part verdicts) const {
  std::string removed;
  return Write(PathOf(key, kVerdicts), key, verdicts, {}, &removed);
}

std::string ModelCache::Prune(const std::string& just_saved) const {
  struct Kept {
    int64_t used, bytes;
    std::string path;
  };
  std::vector<Kept> all;
  int64_t bytes = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(folder_.c_str()), closedir);
  if (!folder) return "";
  while (const dirent* entry = readdir(folder.get())) {
    const std::string path = folder_ + "/" + entry->d_name;
    struct stat found;
    if (lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    const int64_t used = static_cast<int64_t>(found.st_mtime);
    if (EndsWith(path, kUnfinished)) {
      // Its process is gone: others' that are being written are younger.
      if (time(nullptr) - used > kAbandonedSeconds) unlink(path.c_str());
    } else if (EndsWith(path, kEnding) || EndsWith(path, kVerdicts)) {
      bytes += static_cast<int64_t>(found.st_size);
      if (path != just_saved && !HeldFile::Has(path)) {
        all.push_back({used, static_cast<int64_t>(found.st_size), path});
      }
    }
  }
  if (most_bytes_ == 0 || bytes <= most_bytes_) return "";
  int count = 0;
  int64_t removed = 0;
  while (!all.empty() && bytes - removed > most_bytes_) {
    const auto oldest = std::min_element(
        all.begin(), all.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
    unlink(oldest->path.c_str());
    removed += oldest->bytes;
    ++count;
    all.erase(oldest);
  }
  const auto mib = [](int64_t size) { return static_cast<double>(size) / (1 << 20); };
  std::string text;
  if (count > 0) text = Format("removed files: %d (%.1f MiB), ", count, mib(removed));
  if (bytes - removed > most_bytes_) {
    text += Format("files in use: %.1f MiB, ", mib(bytes - removed));
  }
  return text + Format("the limit is %.0f MiB", mib(most_bytes_));
}

}  // namespace quadra
