// Files that readers see whole or not at all.
#ifndef QUADRA_CACHE_WHOLE_FILE_H_
#define QUADRA_CACHE_WHOLE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "delegate_native/base/status.h"

namespace quadra {

// An open file, or what errno says.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const std::string& path, int flags);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int get() const { return descriptor_; }
  // Opened for reading; not ok: there is none (kAbsent), or it is no regular file. Follows no link.
  static Status Check(const File& file, size_t* size);
  // All bytes, or errno says why not.
  bool Write(const void* from, size_t size) const;
  bool Read(void* to, size_t size, size_t offset) const;

 private:
  int descriptor_;
};

extern const char kAbsent[];

// "VERB: " and what errno says.
Status Failed(const char* verb);

// Writes beside `path`, syncs and renames: a reader sees the whole file or none, and who has mapped
// the file before keeps what it was. Nothing is left of a write that fails. Readable by this user
// only. `fill` gets `what`; false: errno says why not.
Status WriteWhole(const std::string& path, bool (*fill)(const File& file, const void* what),
                  const void* what);

// The ending of files that are still being written.
extern const char kUnfinished[];

}  // namespace quadra

#endif  // QUADRA_CACHE_WHOLE_FILE_H_
