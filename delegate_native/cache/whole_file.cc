#include "delegate_native/cache/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace quadra {

const char kUnfinished[] = ".unfinished";
const char kAbsent[] = "none is kept";

namespace {

constexpr size_t kMostAtOnce = size_t{1} << 30;

}  // namespace

File::File(const std::string& path, int flags) {
  do descriptor_ = open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  while (descriptor_ < 0 && errno == EINTR);
}

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status File::Check(const File& file, size_t* size) {
  if (file.get() < 0) return errno == ENOENT ? Unsupported("%s", kAbsent) : Failed("open it");
  struct stat found;
  if (fstat(file.get(), &found) != 0) return Failed("look at it");
  if (!S_ISREG(found.st_mode)) return Unsupported("it is no regular file");
  *size = static_cast<size_t>(found.st_size);
  return Status();
}

bool File::Write(const void* from, size_t size) const {
  for (const char* at = static_cast<const char*>(from); size > 0;) {
    const ssize_t put = write(descriptor_, at, std::min(size, kMostAtOnce));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put, size -= static_cast<size_t>(put);
  }
  return true;
}

bool File::Read(void* to, size_t size, size_t offset) const {
  for (char* at = static_cast<char*>(to); size > 0;) {
    const ssize_t got =
        pread(descriptor_, at, std::min(size, kMostAtOnce), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got, offset += static_cast<size_t>(got), size -= static_cast<size_t>(got);
  }
  return true;
}

Status Failed(const char* verb) { return Unsupported("%s: %s", verb, strerror(errno)); }

Status WriteWhole(const std::string& path, bool (*fill)(const File& file, const void* what),
                  const void* what) {
  static std::atomic<unsigned> count{0};
  const std::string unfinished =
      path + Format(".%d.%u%s", static_cast<int>(getpid()), count++, kUnfinished);
  const File file(unfinished, O_WRONLY | O_CREAT | O_EXCL);
  if (file.get() < 0) return Failed("make it");
  Status status;
  if (!fill(file, what) || fsync(file.get()) != 0) status = Failed("write it");
  if (status.ok() && rename(unfinished.c_str(), path.c_str()) != 0) status = Failed("rename it");
  if (!status.ok()) unlink(unfinished.c_str());
  return status;
}

}  // namespace quadra
