#include "delegate_native/cache/prune.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "delegate_native/base/lean/mutex.h"
#include "delegate_native/base/status.h"
#include "delegate_native/cache/cache_file.h"
#include "delegate_native/cache/model_cache.h"
#include "delegate_native/cache/weights_file.h"
#include "delegate_native/cache/whole_file.h"

namespace quadra {

const char kEnding[] = ".quadra", kVerdicts[] = ".verdicts", kHashes[] = ".hashes";

namespace {

constexpr int64_t kAbandonedSeconds = 3600;  // no write takes that long

bool EndsWith(const std::string& text, const char* ending) {
  const size_t size = strlen(ending);
  return text.size() >= size && text.compare(text.size() - size, size, ending) == 0;
}

struct KeptFile {
  std::string path;
  int64_t used, bytes;
};

class Folder {
 public:
  void Add(const std::string& path, const std::string& just_saved) {
    struct stat found;
    if (lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return;
    const KeptFile file = {path, static_cast<int64_t>(found.st_mtime),
                           static_cast<int64_t>(found.st_size)};
    if (EndsWith(path, kUnfinished)) {
      // Its process is gone: others' that are being written are younger.
      if (IsAbandoned(file) && !HeldFile::Has(path)) unlink(path.c_str());
      return;
    }
    const bool is_plan = EndsWith(path, kEnding);
    if (EndsWith(path, kWeights)) {
      weights_.push_back(file);
    } else if (is_plan || EndsWith(path, kVerdicts) || EndsWith(path, kHashes)) {
      if (is_plan) plans_.push_back(path);
      if (path != just_saved && !HeldFile::Has(path)) idle_.push_back(file);
    } else {
      return;
    }
    bytes_ += file.bytes;
  }

  // Those that the plans have which are there, each as often as there are such plans.
  void FindNeeded() {
    if (weights_.empty()) return;
    for (const std::string& plan : plans_) {
      for (const WeightsAt& at : WeightsOfCacheFile(plan)) {
        std::string path = PathOfWeights(plan, at);
        needed_.insert(std::upper_bound(needed_.begin(), needed_.end(), path), std::move(path));
      }
    }
  }

  // A process that writes a plan writes its weights first: these may be young.
  void RemoveAbandonedWeights() {
    const std::vector<KeptFile> all = weights_;
    for (const KeptFile& file : all) {
      if (IsAbandoned(file) && !IsNeeded(file.path)) RemoveWeights(file.path);
    }
    removed_ = removed_bytes_ = 0;
  }

  void Shrink(int64_t most_bytes) {
    while (!idle_.empty() && bytes_ > most_bytes) {
      const auto oldest =
          std::min_element(idle_.begin(), idle_.end(),
                           [](const KeptFile& a, const KeptFile& b) { return a.used < b.used; });
      const KeptFile file = std::move(*oldest);
      idle_.erase(oldest);
      const std::vector<WeightsAt> its = needed_.empty() || !EndsWith(file.path, kEnding)
                                             ? std::vector<WeightsAt>()
                                             : WeightsOfCacheFile(file.path);
      // First: others that look now are not to find weights that no plan has.
      for (const WeightsAt& at : its) {
        const std::string path = PathOfWeights(file.path, at);
        const auto one = std::lower_bound(needed_.begin(), needed_.end(), path);
        if (one != needed_.end() && *one == path) needed_.erase(one);
        if (!IsNeeded(path)) RemoveWeights(path);
      }
      Remove(file);
    }
  }

  std::string Say(int64_t most_bytes) const {
    const auto mib = [](int64_t size) { return static_cast<double>(size) / (1 << 20); };
    std::string text;
    if (removed_ > 0) {
      text =
          Format("removed files: %d (%.1f MiB), ", static_cast<int>(removed_), mib(removed_bytes_));
    }
    if (bytes_ > most_bytes) text += Format("files in use: %.1f MiB, ", mib(bytes_));
    return text.empty() ? text : text + Format("the limit is %.0f MiB", mib(most_bytes));
  }

 private:
  static bool IsAbandoned(const KeptFile& file) {
    return time(nullptr) - file.used > kAbandonedSeconds;
  }

  bool IsNeeded(const std::string& path) const {
    return std::binary_search(needed_.begin(), needed_.end(), path);
  }

  void Remove(const KeptFile& file) {
    unlink(file.path.c_str());
    bytes_ -= file.bytes;
    removed_bytes_ += file.bytes;
    ++removed_;
  }

  void RemoveWeights(const std::string& path) {
    const auto at = std::find_if(weights_.begin(), weights_.end(),
                                 [&](const KeptFile& file) { return file.path == path; });
    if (at == weights_.end()) return;
    Remove(*at);
    weights_.erase(at);
  }

  std::vector<KeptFile> idle_, weights_;  // those that may go for the limit; all of weights
  std::vector<std::string> plans_, needed_;
  int64_t bytes_ = 0, removed_ = 0, removed_bytes_ = 0;
};

}  // namespace

std::string Prune(const std::string& folder, const std::string& just_saved, int64_t most_bytes) {
  static Mutex* const mutex = new Mutex;  // it stays when the process ends
  const MutexLock lock(mutex);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  if (!entries) return "";
  Folder found;
  while (const dirent* entry = readdir(entries.get())) {
    found.Add(folder + "/" + entry->d_name, just_saved);
  }
  found.FindNeeded();
  found.RemoveAbandonedWeights();
  if (most_bytes == 0) return "";
  found.Shrink(most_bytes);
  return found.Say(most_bytes);
}

}  // namespace quadra
