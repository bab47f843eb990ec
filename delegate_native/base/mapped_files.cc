#include "delegate_native/base/mapped_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "delegate_native/base/file_pages.h"

namespace quadra {
namespace {

int64_t Ns(const struct timespec& time) { return time.tv_sec * int64_t{1000000000} + time.tv_nsec; }

// All of a file whose size nobody says before.
std::string ReadAll(const char* path) {
  std::string all;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return all;
  char piece[1 << 12];
  ssize_t got;
  while ((got = pread(file, piece, sizeof(piece), static_cast<off_t>(all.size()))) > 0) {
    all.append(piece, static_cast<size_t>(got));
  }
  close(file);
  return all;
}

uint64_t Number(const char** at, int base) {
  char* end;
  const auto number = static_cast<uint64_t>(strtoll(*at, &end, base));
  *at = *end ? end + 1 : end;  // behind what ends it
  return number;
}

// A line of /proc/self/maps (the kernel's Documentation/filesystems/proc.rst):
// "begin-end rwxp offset major:minor inode   path".
struct MapsLine {
  uintptr_t begin, end;
  bool is_read_only;
  uint64_t offset, major, minor, inode;
  std::string path;

  explicit MapsLine(const char* at, const char* line_end) {
    begin = static_cast<uintptr_t>(Number(&at, 16));
    end = static_cast<uintptr_t>(Number(&at, 16));
    is_read_only = line_end - at > 5 && at[0] == 'r' && at[1] == '-';
    at = std::find(at, line_end, ' ');
    offset = Number(&at, 16);
    major = Number(&at, 16);
    minor = Number(&at, 16);
    inode = Number(&at, 10);
    const char* const name = std::find(std::min(at, line_end), line_end, '/');
    path.assign(name, line_end);
  }

  // The file may have been removed, or another one have its name.
  bool Identify(FileIdentity* identity) const {
    if (!is_read_only || path.empty()) return false;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    const bool is = FileIdentity::Of(file, identity);
    close(file);
    // As the kernel packs a number of a device.
    const uint64_t device = (minor & 0xff) | (major & 0xfff) << 8 | (minor & ~0xffu) << 12;
    return is && identity->inode == inode && identity->device == device;
  }
};

}  // namespace

bool FileIdentity::operator==(const FileIdentity& o) const {
  return IsOfSameFile(o) && size == o.size && modified_ns == o.modified_ns &&
         changed_ns == o.changed_ns;
}

bool FileIdentity::Of(int descriptor, FileIdentity* identity) {
  constexpr int64_t kTickNs = 2000000000;
  struct stat found;
  struct timespec now;
  if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode) ||
      clock_gettime(CLOCK_REALTIME, &now) != 0) {
    return false;
  }
  *identity = {static_cast<uint64_t>(found.st_dev), static_cast<uint64_t>(found.st_ino),
               static_cast<uint64_t>(found.st_size), Ns(found.st_mtim), Ns(found.st_ctim)};
  return Ns(now) - std::max(identity->modified_ns, identity->changed_ns) > kTickNs;
}

const MappedFiles::Mapping* MappedFiles::FindMapping(uintptr_t begin, uintptr_t end) {
  for (const Mapping& one : known_) {
    if (one.begin <= begin && end <= one.end) return &one;
  }
  if (table_.empty()) table_ = ReadAll("/proc/self/maps");
  const char* at = table_.c_str();
  while (const char* const line_end = strchr(at, '\n')) {
    const MapsLine line(at, line_end);
    at = line_end + 1;
    if (begin < line.begin || line.end < end) continue;
    FileIdentity file;
    if (!line.Identify(&file)) return nullptr;
    known_.push_back({line.begin, line.end, line.offset, file});
    return &known_.back();
  }
  return nullptr;
}

bool MappedFiles::Find(const void* data, size_t size, FilePart* part) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const Mapping* const in = FindMapping(begin, begin + size);
  if (!in) return false;
  *part = {in->file, in->offset + (begin - in->begin), size};
  return part->offset + size <= in->file.size && AreFilePages(data, size);
}

}  // namespace quadra
