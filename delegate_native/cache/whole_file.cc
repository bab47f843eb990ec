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

std::string NameFor(const std::string& path) {
  static std::atomic<unsigned> count{0};
  return path + Format(".%d.%u%s", static_cast<int>(getpid()), count++, kUnfinished);
}

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

Status MakeFolder(const std::string& folder) {
  if (mkdir(folder.c_str(), S_IRWXU) == 0 || errno == EEXIST) return Status();
  return Unsupported("make the folder %s: %s", folder.c_str(), strerror(errno));
}

Status Failed(const char* verb) { return Unsupported("%s: %s", verb, strerror(errno)); }

bool WriteBytes(const File& file, const void* bytes) {
  const auto& all = *static_cast<const Bytes*>(bytes);
  return file.Write(all.data, all.size);
}

UnfinishedFile::UnfinishedFile(const std::string& path)
    : path_(path), unfinished_(NameFor(path)), process_(getpid()) {}

UnfinishedFile::~UnfinishedFile() { Remove(); }

void UnfinishedFile::Remove() {
  if (is_there_ && getpid() == process_) unlink(unfinished_.c_str());
  is_there_ = false;
}

Status UnfinishedFile::Write(bool (*fill)(const File& file, const void* what), const void* what) {
  const File file(unfinished_, O_WRONLY | O_CREAT | O_EXCL);
  if (file.get() < 0) return Failed("make it");
  is_there_ = true;
  struct stat found;
  if (!fill(file, what) || fstat(file.get(), &found) != 0) {
    Status status = Failed("write it");
    Remove();
    return status;
  }
  device_ = static_cast<uint64_t>(found.st_dev);
  inode_ = static_cast<uint64_t>(found.st_ino);
  size_ = static_cast<uint64_t>(found.st_size);
  return Status();
}

Status UnfinishedFile::Finish() {
  const File file(unfinished_, O_WRONLY | O_NONBLOCK);
  struct stat found;
  if (file.get() < 0 || fstat(file.get(), &found) != 0) return Failed("open it again");
  if (static_cast<uint64_t>(found.st_dev) != device_ ||
      static_cast<uint64_t>(found.st_ino) != inode_ ||
      static_cast<uint64_t>(found.st_size) != size_) {
    return Unsupported("somebody replaced it");
  }
  if (fsync(file.get()) != 0) return Failed("write it");
  if (rename(unfinished_.c_str(), path_.c_str()) != 0) return Failed("rename it");
  is_there_ = false;
  return Status();
}

Status WriteWhole(const std::string& path, bool (*fill)(const File& file, const void* what),
                  const void* what) {
  UnfinishedFile file(path);
  QUADRA_RETURN_IF_ERROR(file.Write(fill, what));
  return file.Finish();
}

}  // namespace quadra
