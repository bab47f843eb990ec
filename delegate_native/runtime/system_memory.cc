#include "delegate_native/runtime/system_memory.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "delegate_native/base/functions.h"
#include "delegate_native/base/names.h"

namespace quadra {
namespace {

constexpr uint32_t kBlob = 0x21;  // AHARDWAREBUFFER_FORMAT_BLOB: its width is its size in bytes

struct Description {  // AHardwareBuffer_Desc
  uint32_t width, height, layers, format;
  uint64_t usage;
  uint32_t stride, reserved0;
  uint64_t reserved1;
};

constexpr const char* kNames =
    QUADRA_NAMES("AHardwareBuffer_acquire\nAHardwareBuffer_release\nAHardwareBuffer_describe\n");

int FdOf(void* handle) { return static_cast<int>(reinterpret_cast<intptr_t>(handle)); }

Status Check(size_t bytes, size_t needed) {
  return bytes < needed ? Unsupported("it has %zu bytes; %zu are needed", bytes, needed) : Status();
}

}  // namespace

SystemMemory::~SystemMemory() {
  if (fd_ >= 0) close(fd_);
  if (hardware_buffer_) release_(hardware_buffer_);
}

int SystemMemory::Duplicate() const { return fcntl(fd_, F_DUPFD_CLOEXEC, 0); }

Status SystemMemory::OpenDmaBuf(int fd) {
  fd_ = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  struct stat file;
  // fstat has a size in new kernels only.
  const off_t size = fd_ < 0 || fstat(fd_, &file) != 0 ? -1 : lseek(fd_, 0, SEEK_END);
  if (size < 0) return Unsupported("use the file descriptor %d: %s", fd, strerror(errno));
  has_inode_ = file.st_size > 0 || file.st_blocks > 0;
  device_ = file.st_dev;
  inode_ = file.st_ino;
  return Check(static_cast<size_t>(size), bytes_);
}

// Android has these functions since API 26, and the delegate loads on older ones.
Status SystemMemory::OpenHardwareBuffer(void* buffer) {
  void* library = dlopen("libnativewindow.so", RTLD_NOW | RTLD_LOCAL);
  struct {
    void (*acquire)(void*);
    void (*release)(void*);
    void (*describe)(void*, Description*);
  } android;
  const auto find = [&](const char* name) { return library ? dlsym(library, name) : nullptr; };
  if (!FindFunctions(find, kNames, &android).empty()) {
    return Unsupported("Android has none before API 26");
  }
  android.acquire(buffer);
  release_ = android.release;
  hardware_buffer_ = buffer;
  Description description = {};
  android.describe(buffer, &description);
  if (description.format == kBlob) return Check(description.width, bytes_);
  return Unsupported("it has the format %u; next: give one of the format BLOB", description.format);
}

Status SystemMemory::Open(Kind kind, void* handle, size_t bytes) {
  kind_ = kind;
  bytes_ = bytes;
  return kind == Kind::kDmaBuf ? OpenDmaBuf(FdOf(handle)) : OpenHardwareBuffer(handle);
}

bool SystemMemory::Is(Kind kind, void* handle, size_t bytes) const {
  if (kind != kind_ || bytes != bytes_) return false;
  if (kind == Kind::kHardwareBuffer) return handle == hardware_buffer_;
  struct stat file;
  return has_inode_ && fstat(FdOf(handle), &file) == 0 && file.st_dev == device_ &&
         file.st_ino == inode_;
}

}  // namespace quadra
