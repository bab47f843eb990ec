#include "delegate_native/cache/weights_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "delegate_native/base/content_hash.h"
#include "delegate_native/base/file_pages.h"
#include "delegate_native/base/known_hashes.h"
#include "delegate_native/base/lean/mutex.h"
#include "delegate_native/cache/whole_file.h"
#include "delegate_native/plan/plan_bytes.h"

namespace quadra {

const char kWeights[] = ".weights";

namespace {

// Files as this process left them. It need not read them for the next plan's sake, as it would
// until their times are old enough for KnownHashes: a start checks what it takes, whoever wrote it.
class WrittenFiles {
 public:
  // It stays when the process ends: a thread may be writing a file then.
  static WrittenFiles* OfProcess() {
    static WrittenFiles* const all = new WrittenFiles;
    return all;
  }

  void Add(const KnownHash& hash) {
    const MutexLock lock(&mutex_);
    if (all_.size() == KnownHashes::kMost) all_.clear();
    all_.push_back(hash);
  }

  bool Has(const KnownHash& hash) {
    const MutexLock lock(&mutex_);
    return std::any_of(all_.begin(), all_.end(), [&](const KnownHash& one) {
      return one.part == hash.part && one.sample == hash.sample && one.low == hash.low &&
             one.high == hash.high;
    });
  }

 private:
  Mutex mutex_;
  std::vector<KnownHash> all_;
};

// One look at a file of weights, which is mapped at `bytes`.
class Look {
 public:
  explicit Look(const File& file, const WeightsAt& weights) : weights_(weights) {
    known_.part.size = weights.size;
    known_.low = weights.low, known_.high = weights.high;
    is_settled_ = FileIdentity::Of(file.get(), &known_.part.file);
  }

  // Whether somebody found it to have what its hash says, and it was not written to since.
  bool WasChecked(const uint8_t* bytes) const {
    uint64_t low, high;
    return is_settled_ && KnownHashes::OfProcess()->Find(known_.part, bytes, &low, &high) &&
           low == weights_.low && high == weights_.high;
  }

  // Whether this process wrote it, and nobody since.
  bool WasWritten(const uint8_t* bytes) {
    known_.sample = KnownHash::SampleOf(bytes, static_cast<size_t>(weights_.size));
    return WrittenFiles::OfProcess()->Has(known_);
  }

  void Remember(const uint8_t* bytes) {
    known_.sample = KnownHash::SampleOf(bytes, static_cast<size_t>(weights_.size));
    WrittenFiles::OfProcess()->Add(known_);
  }

  bool Check(const uint8_t* bytes) {
    const auto size = static_cast<size_t>(weights_.size);
    ContentHash hash;
    hash.Add(bytes, size);
    GiveFilePagesBack(bytes, size);  // a device that copies them needs no more of them
    KnownHashes::OfProcess()->Count(size);
    if (hash.low() != weights_.low || hash.high() != weights_.high) return false;
    known_.sample = KnownHash::SampleOf(bytes, size);
    if (is_settled_) KnownHashes::OfProcess()->Add(known_);
    return true;
  }

 private:
  const WeightsAt weights_;
  KnownHash known_;
  bool is_settled_;
};

// No Prune takes it for one that nobody wants any more. A file that is young stays as it is: this
// changes what others know it by, and they would read it again.
void KeepYoung(const File& file) {
  constexpr time_t kYoungSeconds = 600;
  struct stat found;
  if (fstat(file.get(), &found) == 0 && time(nullptr) - found.st_mtime < kYoungSeconds) return;
  futimens(file.get(), nullptr);
}

enum class How { kKnown, kRead, kWritten };

// Whether the file is there and whole. `how`: from what is known, or by reading it where nobody
// knows; or because it was written just now.
bool IsKept(const std::string& path, const WeightsAt& weights, How how) {
  const File file(path, O_RDONLY | O_NONBLOCK);
  size_t size;
  if (!File::Check(file, &size).ok() || size != weights.size || size == 0) return false;
  Look look(file, weights);
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) return false;
  const auto* const bytes = static_cast<const uint8_t*>(mapped);
  if (how == How::kWritten) look.Remember(bytes);
  const bool is = how == How::kWritten || look.WasWritten(bytes) || look.WasChecked(bytes) ||
                  (how == How::kRead && look.Check(bytes));
  munmap(mapped, size);
  if (is) KeepYoung(file);
  return is;
}

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
  Look look(file, weights);
  const auto page = PageBytes();
  // The rest of the last page is the plan's.
  const size_t whole = reinterpret_cast<uintptr_t>(to) % page == 0 ? size / page * page : 0;
  constexpr int kFlags = MAP_PRIVATE | MAP_FIXED;
  if (whole > 0 && mmap(to, whole, PROT_READ, kFlags, file.get(), 0) == MAP_FAILED) {
    return Failed("map it");
  }
  if (!file.Read(to + whole, size - whole, whole)) return Failed("read it");
  if (look.WasChecked(to)) return Status();
  madvise(to, whole, MADV_WILLNEED);
  return look.Check(to) ? Status() : Unsupported("it is damaged");
}

bool IsKnownToBeWhole(const std::string& path, const WeightsAt& weights) {
  return IsKept(path, weights, How::kKnown);
}

Status WriteWeights(const std::string& path, const WeightsAt& weights,
                    const WeightsContent& content) {
  if (IsKept(path, weights, How::kRead)) return Status();
  const Bytes bytes = {content.data, static_cast<size_t>(weights.size)};
  Status status = content.data     ? WriteWhole(path, WriteBytes, &bytes)
                  : content.keeper ? content.keeper->Finish()
                                   : Unsupported("the device alone has its weights");
  if (status.ok()) IsKept(path, weights, How::kWritten);
  return status;
}

}  // namespace quadra
