#include "delegate_native/cache/weights_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "delegate_native/base/content_hash.h"
#include "delegate_native/base/lean/mutex.h"
#include "delegate_native/cache/whole_file.h"
#include "delegate_native/plan/plan_bytes.h"

namespace quadra {

const char kWeights[] = ".weights";

namespace {

bool Has(const uint8_t* bytes, const WeightsAt& weights) {
  ContentHash hash;
  hash.Add(bytes, static_cast<size_t>(weights.size));
  return hash.low() == weights.low && hash.high() == weights.high;
}

int64_t Ns(const struct timespec& time) { return time.tv_sec * int64_t{1000000000} + time.tv_nsec; }

// A file that this process found to have what its hash says: its other plans need not read it.
struct Checked {
  dev_t device;
  ino_t inode;
  int64_t changed_ns;
  uint64_t low, high;

  bool operator==(const Checked& o) const {
    return device == o.device && inode == o.inode && changed_ns == o.changed_ns && low == o.low &&
           high == o.high;
  }
};

struct CheckedFiles {
  Mutex mutex;
  std::vector<Checked> all;
};

// It stays when the process ends: a thread may be writing a file then.
CheckedFiles* CheckedBefore() {
  static CheckedFiles* const before = new CheckedFiles;
  return before;
}

// One look at a file. Whatever is written into it later changes its time.
class Look {
 public:
  Look(const File& file, const WeightsAt& weights) {
    struct stat found;
    struct timespec now;
    if (fstat(file.get(), &found) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0) return;
    file_ = {found.st_dev, found.st_ino, Ns(found.st_ctim), weights.low, weights.high};
    // File systems have ticks, of up to two seconds: in the one that it was changed in, it may be
    // changed again.
    is_settled_ = Ns(now) - file_.changed_ns > kTickNs;
  }

  bool WasChecked() const {
    CheckedFiles* const before = CheckedBefore();
    const MutexLock lock(&before->mutex);
    return is_settled_ &&
           std::find(before->all.begin(), before->all.end(), file_) != before->all.end();
  }

  void Remember() const {
    constexpr size_t kMost = 4096;
    CheckedFiles* const before = CheckedBefore();
    const MutexLock lock(&before->mutex);
    if (!is_settled_) return;
    if (before->all.size() == kMost) before->all.clear();
    before->all.push_back(file_);
  }

 private:
  static constexpr int64_t kTickNs = 2000000000;

  Checked file_ = {};
  bool is_settled_ = false;
};

bool IsKept(const std::string& path, const WeightsAt& weights) {
  const File file(path, O_RDONLY | O_NONBLOCK);
  size_t size;
  if (!File::Check(file, &size).ok() || size != weights.size || size == 0) return false;
  bool is = Look(file, weights).WasChecked();
  if (!is) {
    void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (mapped == MAP_FAILED) return false;
    is = Has(static_cast<const uint8_t*>(mapped), weights);
    munmap(mapped, size);
  }
  if (is) futimens(file.get(), nullptr);  // no Prune takes it for one that nobody wants any more
  return is;
}

struct Content {
  const uint8_t* data;
  size_t size;
};

}  // namespace

std::string PathOfWeights(const std::string& plan_path, const WeightsAt& weights) {
  return plan_path.substr(0, plan_path.rfind('_') + 1) +
         Format("%016llx%016llx", static_cast<unsigned long long>(weights.high),
                static_cast<unsigned long long>(weights.low)) +
         kWeights;
}

Status ReadWeights(const std::string& path, const WeightsAt& weights, uint8_t* to) {
  const File file(path, O_RDONLY | O_NONBLOCK);
  size_t size;
  QUADRA_RETURN_IF_ERROR(File::Check(file, &size));
  if (size != weights.size) return Unsupported("it is damaged");
  const Look look(file, weights);
  const bool was_checked = look.WasChecked();
  const auto page = PageBytes();
  // The rest of the last page is the plan's.
  const size_t whole = reinterpret_cast<uintptr_t>(to) % page == 0 ? size / page * page : 0;
  // Mostly another plan's pages are used in place of those that were checked before.
  const int flags = MAP_PRIVATE | MAP_FIXED | (was_checked ? 0 : MAP_POPULATE);
  if (whole > 0 && mmap(to, whole, PROT_READ, flags, file.get(), 0) == MAP_FAILED) {
    return Failed("map it");
  }
  if (!file.Read(to + whole, size - whole, whole)) return Failed("read it");
  if (was_checked) return Status();
  if (!Has(to, weights)) return Unsupported("it is damaged");
  look.Remember();
  return Status();
}

Status WriteWeights(const std::string& path, const WeightsAt& weights, const uint8_t* content) {
  if (IsKept(path, weights)) return Status();
  if (!content) return Unsupported("the device alone has its weights");
  const Content all = {content, static_cast<size_t>(weights.size)};
  return WriteWhole(
      path,
      [](const File& file, const void* what) {
        const auto& from = *static_cast<const Content*>(what);
        return file.Write(from.data, from.size);
      },
      &all);
}

}  // namespace quadra
