#include "delegate_native/cache/cache_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "delegate_native/base/content_hash.h"

namespace quadra {

const char kUnfinished[] = ".unfinished";

namespace {

constexpr uint32_t kFormat = 3;
constexpr uint64_t kMostKey = uint64_t{1} << 20;
constexpr uint64_t kMostPart = (uint64_t{1} << 31) - 1;  // what FlatBuffers can address

struct PartHash {
  uint64_t low = 0, high = 0;

  static PartHash Of(const void* data, size_t size) {
    ContentHash hash;
    hash.Add(data, size);
    return {hash.low(), hash.high()};
  }
  bool operator==(const PartHash& o) const { return low == o.low && high == o.high; }
};

uint64_t Aligned(uint64_t at) {
  return (at + PlanBytes::kAlignment - 1) / PlanBytes::kAlignment * PlanBytes::kAlignment;
}

struct Header {
  char magic[8] = {'Q', 'U', 'A', 'D', 'R', 'A', 'P', '\n'};
  uint32_t format = kFormat;
  uint32_t byte_order = 0x01020304;
  uint32_t pointer_bytes = sizeof(void*);
  uint32_t key_bytes = 0;
  uint64_t plan_bytes = 0, binaries_bytes = 0;
  PartHash key, plan, binaries;
  PartHash own;  // of what is before it

  PartHash Own() const { return PartHash::Of(this, offsetof(Header, own)); }
  uint64_t key_end() const { return sizeof(Header) + key_bytes; }
  uint64_t plan_at() const { return Aligned(key_end()); }
  uint64_t plan_end() const { return plan_at() + plan_bytes; }
  uint64_t binaries_at() const { return Aligned(plan_end()); }
  uint64_t end() const { return binaries_at() + binaries_bytes; }
};
static_assert(sizeof(Header) == 104, "written as it lies in memory");

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int get() const { return descriptor_; }
  // All bytes, or errno says why not.
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

Status Failed(const char* verb) { return Unsupported("%s: %s", verb, strerror(errno)); }

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
  if (header.key_bytes > kMostKey || header.plan_bytes > kMostPart ||
      header.binaries_bytes > kMostPart || header.end() != file_bytes) {
    return Unsupported("it has %llu bytes, not what its header says",
                       static_cast<unsigned long long>(file_bytes));
  }
  return Status();
}

Status Write(const File& file, const std::string& key, Part plan, Part binaries) {
  Header header;
  header.key_bytes = static_cast<uint32_t>(key.size());
  header.plan_bytes = plan.size;
  header.binaries_bytes = binaries.size;
  header.key = PartHash::Of(key.data(), key.size());
  header.plan = PartHash::Of(plan.data, plan.size);
  header.binaries = PartHash::Of(binaries.data, binaries.size);
  header.own = header.Own();
  const char zeros[PlanBytes::kAlignment] = {};
  const bool written =
      file.Write(&header, sizeof(header)) && file.Write(key.data(), key.size()) &&
      file.Write(zeros, static_cast<size_t>(header.plan_at() - header.key_end())) &&
      file.Write(plan.data, plan.size) &&
      file.Write(zeros, static_cast<size_t>(header.binaries_at() - header.plan_end())) &&
      file.Write(binaries.data, binaries.size);
  return written && fsync(file.get()) == 0 ? Status() : Failed("write it");
}

// All of a file, of which the header fits `bytes`.
Status CheckHashes(const uint8_t* bytes, const Header& header, const std::string& key) {
  const auto is_whole = [&](uint64_t begin, uint64_t size, const PartHash& hash) {
    return PartHash::Of(bytes + begin, static_cast<size_t>(size)) == hash;
  };
  const auto is_empty = [&](uint64_t begin, uint64_t end) {
    return std::all_of(bytes + begin, bytes + end, [](uint8_t byte) { return byte == 0; });
  };
  if (!is_whole(sizeof(Header), header.key_bytes, header.key) ||
      !is_empty(header.key_end(), header.plan_at())) {
    return Unsupported("its key is damaged");
  }
  if (key.size() != header.key_bytes ||
      memcmp(bytes + sizeof(Header), key.data(), key.size()) != 0) {
    return Unsupported("it is for another model, device, driver or library");
  }
  if (!is_whole(header.plan_at(), header.plan_bytes, header.plan) ||
      !is_empty(header.plan_end(), header.binaries_at())) {
    return Unsupported("its plan is damaged");
  }
  if (!is_whole(header.binaries_at(), header.binaries_bytes, header.binaries)) {
    return Unsupported("its binaries are damaged");
  }
  return Status();
}

}  // namespace

Status ReadCacheFile(const std::string& path, const std::string& key, CheckParts check,
                     PlanBytes* plan, Part* binaries) {
  const File file(Open(path.c_str(), O_RDONLY | O_NONBLOCK));
  if (file.get() < 0) return errno == ENOENT ? Unsupported("none is kept") : Failed("open it");
  struct stat found;
  if (fstat(file.get(), &found) != 0) return Failed("look at it");
  if (!S_ISREG(found.st_mode)) return Unsupported("it is no regular file");
  const size_t size = static_cast<size_t>(found.st_size);
  Header header;
  if (size < sizeof(header)) return Unsupported("it is not a plan's file");
  // All of it will be read, in order: better one read and no faults.
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.get(), 0);
  if (mapped == MAP_FAILED) return Failed("map it");
  PlanBytes::Pages pages(static_cast<uint8_t*>(mapped), {size});
  memcpy(&header, mapped, sizeof(header));
  QUADRA_RETURN_IF_ERROR(CheckHeader(header, size));
  QUADRA_RETURN_IF_ERROR(CheckHashes(pages.get(), header, key));
  *binaries = {pages.get() + header.binaries_at(), static_cast<size_t>(header.binaries_bytes)};
  QUADRA_RETURN_IF_ERROR(
      check({pages.get() + header.plan_at(), static_cast<size_t>(header.plan_bytes)}, *binaries));
  futimens(file.get(), nullptr);  // used just now: the last to be removed
  *plan = PlanBytes(std::move(pages), static_cast<size_t>(header.plan_at()),
                    static_cast<size_t>(header.plan_bytes));
  return Status();
}

Status WriteCacheFile(const std::string& path, const std::string& key, Part plan, Part binaries) {
  static std::atomic<unsigned> count{0};
  if (key.size() > kMostKey || plan.size > kMostPart || binaries.size > kMostPart) {
    return Unsupported("it is too large");
  }
  const std::string unfinished =
      path + Format(".%d.%u%s", static_cast<int>(getpid()), count++, kUnfinished);
  const File file(Open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL));
  if (file.get() < 0) return Failed("make it");
  Status status = Write(file, key, plan, binaries);
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
