// Memory that the system hands out for several devices: a dma-buf or an AHardwareBuffer.
#ifndef QUADRA_RUNTIME_SYSTEM_MEMORY_H_
#define QUADRA_RUNTIME_SYSTEM_MEMORY_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>

#include "delegate_native/base/status.h"

namespace quadra {

// A reference to it: it stays, also where its owner lets go of it, and no other gets its name.
class SystemMemory {
 public:
  enum class Kind { kDmaBuf, kHardwareBuffer };

  SystemMemory() = default;
  virtual ~SystemMemory();
  SystemMemory(const SystemMemory&) = delete;
  SystemMemory& operator=(const SystemMemory&) = delete;

  // handle: of a dma-buf: its file descriptor; else an AHardwareBuffer*, of the format BLOB.
  Status Open(Kind kind, void* handle, size_t bytes);
  // Whether a handle is for this memory, and asks for as many bytes.
  bool Is(Kind kind, void* handle, size_t bytes) const;
  // A file descriptor for someone who closes it; below 0: the process has too many.
  int Duplicate() const;

  size_t bytes() const { return bytes_; }
  int fd() const { return fd_; }
  void* hardware_buffer() const { return hardware_buffer_; }
  // The object that a GPU's API made of it.
  virtual void* object() const = 0;

  std::unique_ptr<SystemMemory> next;  // in a list

 private:
  Status OpenDmaBuf(int fd);
  Status OpenHardwareBuffer(void* buffer);

  Kind kind_ = Kind::kDmaBuf;
  size_t bytes_ = 0;
  int fd_ = -1;
  bool has_inode_ = false;  // kernels before 5.3 have one for all dma-bufs
  dev_t device_ = 0;
  ino_t inode_ = 0;
  void* hardware_buffer_ = nullptr;
  void (*release_)(void*) = nullptr;
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_SYSTEM_MEMORY_H_
