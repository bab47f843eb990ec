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

// A `fill` that writes Bytes.
struct Bytes {
  const void* data;
  size_t size;
};
bool WriteBytes(const File& file, const void* bytes);

extern const char kAbsent[];

// Unless it is there.
Status MakeFolder(const std::string& folder);

// "VERB: " and what errno says.
Status Failed(const char* verb);

// A file that is written beside its place. Nothing is left of one that is not finished. Readable by
// this user only.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::string& path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  const std::string& unfinished_path() const { return unfinished_; }
  // `fill` gets `what`; false: errno says why not.
  // The file is closed then, and not synced.
  Status Write(bool (*fill)(const File& file, const void* what), const void* what);
  // Syncs, and gives it its name: a reader sees the whole file or none, and who has mapped the file
  // before keeps what it was.
  Status Finish();

 private:
  void Remove();

  const std::string path_, unfinished_;
  const int process_;  // a child of it leaves the file alone
  uint64_t device_ = 0, inode_ = 0, size_ = 0;
  bool is_there_ = false;
};

// Both at once.
Status WriteWhole(const std::string& path, bool (*fill)(const File& file, const void* what),
                  const void* what);

// The ending of files that are still being written.
extern const char kUnfinished[];

}  // namespace quadra

#endif  // QUADRA_CACHE_WHOLE_FILE_H_
