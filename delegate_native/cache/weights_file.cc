#include "delegate_native/cache/weights_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "delegate_native/base/content_hash.h"
#include "delegate_native/base/known_hashes.h"
#include "delegate_native/cache/whole_file.h"
#include "delegate_native/plan/plan_bytes.h"

namespace quadra {

const char kWeights[] = ".weights";

namespace {

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

  bool Check(const uint8_t* bytes) {
    const auto size = static_cast<size_t>(weights_.size);
    ContentHash hash;
    hash.Add(bytes, size);
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

bool IsKept(const std::string& path, const WeightsAt& weights) {
  const File file(path, O_RDONLY | O_NONBLOCK);
  size_t size;
  if (!File::Check(file, &size).ok() || size != weights.size || size == 0) return false;
  Look look(file, weights);
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) return false;
  const auto* const bytes = static_cast<const uint8_t*>(mapped);
  const bool is = look.WasChecked(bytes) || look.Check(bytes);
  munmap(mapped, size);
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
  // All of it will be read, in order: better one read and no faults.
  if (whole > 0 && mmap(to, whole, PROT_READ, kFlags | MAP_POPULATE, file.get(), 0) == MAP_FAILED) {
    return Failed("map it");
  }
  return look.Check(to) ? Status() : Unsupported("it is damaged");
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
