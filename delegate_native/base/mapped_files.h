// Which part of which file some bytes of this process are mapped from, so that what is known of the
// file need not be found again by reading it.
#ifndef QUADRA_BASE_MAPPED_FILES_H_
#define QUADRA_BASE_MAPPED_FILES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quadra {

// Two that are equal are one file with the same content: whatever is written changes the times.
struct FileIdentity {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;

  // That of an open regular file. False: there is none, or one that is no use. File systems have
  // ticks, of up to two seconds: in the one that a file was changed in, it may be changed again
  // without a trace.
  static bool Of(int descriptor, FileIdentity* identity);
  bool IsOfSameFile(const FileIdentity& o) const { return device == o.device && inode == o.inode; }
  bool operator==(const FileIdentity& o) const;
};

struct FilePart {
  FileIdentity file;
  uint64_t offset = 0, size = 0;

  bool operator==(const FilePart& o) const {
    return file == o.file && offset == o.offset && size == o.size;
  }
};

// The process's mappings as they were when it was first asked; those of a model stay as long as its
// interpreter.
class MappedFiles {
 public:
  // False: other bytes may be there than the file has, or none of a file.
  bool Find(const void* data, size_t size, FilePart* part);

 private:
  struct Mapping {
    uintptr_t begin, end;
    uint64_t offset;
    FileIdentity file;
  };

  const Mapping* FindMapping(uintptr_t begin, uintptr_t end);

  std::string table_;
  std::vector<Mapping> known_;
};

}  // namespace quadra

#endif  // QUADRA_BASE_MAPPED_FILES_H_
