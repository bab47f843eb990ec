#include "delegate_native/cache/plan_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "delegate_native/base/content_hash.h"
#include "delegate_native/plan/check_plan.h"

namespace quadra {

const char kUnfinished[] = ".unfinished";

namespace {

constexpr uint32_t kFormat = 1;
constexpr uint64_t kMostWords = uint64_t{1} << 20;
constexpr uint64_t kMostPlan = (uint64_t{1} << 31) - 1;  // what FlatBuffers can address

struct PartHash {
  uint64_t low = 0, high = 0;

  static PartHash Of(const void* data, size_t size) {
    ContentHash hash;
    hash.Add(data, size);
    return {hash.low(), hash.high()};
  }
  bool operator==(const PartHash& o) const { return low == o.low && high == o.high; }
};

struct Header {
  char magic[8] = {'Q', 'U', 'A', 'D', 'R', 'A', 'P', '\n'};
  uint32_t format = kFormat;
  uint32_t byte_order = 0x01020304;
  uint32_t pointer_bytes = sizeof(void*);
  uint32_t words_bytes = 0;
  uint64_t plan_bytes = 0;
  PartHash words, plan;
  PartHash own;  // of what is before it

  PartHash Own() const { return PartHash::Of(this, offsetof(Header, own)); }
  uint64_t plan_at() const {
    return (sizeof(Header) + words_bytes + PlanBytes::kAlignment - 1) / PlanBytes::kAlignment *
           PlanBytes::kAlignment;
  }
};
static_assert(sizeof(Header) == 80, "written as it lies in memory");

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int get() const { return descriptor_; }
  // All bytes, or errno says why not; 0: the file has no more.
  bool Read(void* to, size_t size) const {
    for (char* at = static_cast<char*>(to); size > 0;) {
      const ssize_t got = read(descriptor_, at, std::min(size, kMostAtOnce));
      if (got < 0 && errno == EINTR) continue;
      if (got == 0) errno = 0;
      if (got <= 0) return false;
      at += got, size -= static_cast<size_t>(got);
    }
    return true;
  }
  bool Write(const void* from, size_t size) const {
    for (const char* at = static_cast<const char*>(from); size > 0;) {
      const ssize_t put = write(descriptor_, at, std::min(size, kMostAtOnce));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return false;
      at += put, size -= static_cast<size_t>(put);
    }
    return true;
  }

 private:
  static constexpr size_t kMostAtOnce = size_t{1} << 30;
  int descriptor_;
};

int Open(const char* path, int flags) {
  int descriptor;
  do descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

Status Failed(const char* verb) {
  return Unsupported("%s: %s", verb, errno ? strerror(errno) : "it ends too early");
}

Status CheckHeader(const Header& header, uint64_t file_bytes) {
  const Header ours;
  if (memcmp(header.magic, ours.magic, sizeof(ours.magic)) != 0) {
    return Unsupported("it is not a plan's file");
  }
  if (header.format != ours.format || header.byte_order != ours.byte_order ||
      header.pointer_bytes != ours.pointer_bytes) {
    return Unsupported("it was written in another format, or for another processor");
  }
  if (!(header.Own() == header.own)) return Unsupported("its header is damaged");
  if (header.words_bytes > kMostWords || header.plan_bytes > kMostPlan ||
      header.plan_at() + header.plan_bytes != file_bytes) {
    return Unsupported("it has %llu bytes, not what its header says",
                       static_cast<unsigned long long>(file_bytes));
  }
  return Status();
}

Status Write(const File& file, const std::string& words, const PlanBytes& plan) {
  Header header;
  header.words_bytes = static_cast<uint32_t>(words.size());
  header.plan_bytes = plan.size();
  header.words = PartHash::Of(words.data(), words.size());
  header.plan = PartHash::Of(plan.data(), plan.size());
  header.own = header.Own();
  const char zeros[PlanBytes::kAlignment] = {};
  const size_t gap = static_cast<size_t>(header.plan_at()) - sizeof(header) - words.size();
  const bool written = file.Write(&header, sizeof(header)) &&
                       file.Write(words.data(), words.size()) && file.Write(zeros, gap) &&
                       file.Write(plan.data(), plan.size());
  return written && fsync(file.get()) == 0 ? Status() : Failed("write it");
}

}  // namespace

Status ReadPlanFile(const std::string& path, const std::string& words, PlanBytes* plan) {
  errno = 0;
  const File file(Open(path.c_str(), O_RDONLY | O_NONBLOCK));
  if (file.get() < 0) return errno == ENOENT ? Unsupported("none is kept") : Failed("open it");
  struct stat found;
  if (fstat(file.get(), &found) != 0) return Failed("look at it");
  if (!S_ISREG(found.st_mode)) return Unsupported("it is no regular file");
  Header header;
  if (!file.Read(&header, sizeof(header))) return Failed("read it");
  QUADRA_RETURN_IF_ERROR(CheckHeader(header, static_cast<uint64_t>(found.st_size)));
  std::string kept(header.words_bytes, '\0');
  char gap[PlanBytes::kAlignment];
  const size_t gap_bytes = static_cast<size_t>(header.plan_at()) - sizeof(header) - kept.size();
  if (!file.Read(&kept[0], kept.size()) || !file.Read(gap, gap_bytes)) return Failed("read it");
  const bool is_empty = std::all_of(gap, gap + gap_bytes, [](char c) { return c == 0; });
  if (!is_empty || !(PartHash::Of(kept.data(), kept.size()) == header.words)) {
    return Unsupported("its words are damaged");
  }
  if (kept != words) return Unsupported("it is for another model, device, driver or library");
  const size_t size = static_cast<size_t>(header.plan_bytes);
  void* memory = nullptr;
  if (posix_memalign(&memory, PlanBytes::kAlignment, std::max<size_t>(size, 1)) != 0) {
    return Unsupported("out of memory");
  }
  PlanBytes read(static_cast<uint8_t*>(memory), 0, size);
  if (!file.Read(memory, size)) return Failed("read it");
  if (!(PartHash::Of(memory, size) == header.plan)) return Unsupported("its plan is damaged");
  QUADRA_RETURN_IF_ERROR(CheckPlan(read.data(), read.size()));
  futimens(file.get(), nullptr);  // used just now: the last to be removed
  *plan = std::move(read);
  return Status();
}

Status WritePlanFile(const std::string& path, const std::string& words, const PlanBytes& plan) {
  static std::atomic<unsigned> count{0};
  if (words.size() > kMostWords || plan.size() > kMostPlan) return Unsupported("it is too large");
  const std::string unfinished =
      path + Format(".%d.%u%s", static_cast<int>(getpid()), count++, kUnfinished);
  const File file(Open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL));
  if (file.get() < 0) return Failed("make it");
  Status status = Write(file, words, plan);
  if (status.ok() && rename(unfinished.c_str(), path.c_str()) != 0) status = Failed("rename it");
  if (!status.ok()) {
    unlink(unfinished.c_str());
    return status;
  }
  // Without this a crash of the machine could undo the rename.
  const File folder(open(path.substr(0, path.rfind('/')).c_str(), O_RDONLY | O_CLOEXEC));
  if (folder.get() >= 0) fsync(folder.get());
  return Status();
}

}  // namespace quadra
