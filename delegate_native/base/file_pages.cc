#include "delegate_native/base/file_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace quadra {
namespace {

constexpr size_t kLeastBytes = 1 << 16;

// An entry of /proc/self/pagemap (the kernel's Documentation/admin-guide/mm/pagemap.rst): bits say
// whether the page is there, whether it is swapped, and whether a file or shared memory backs it.
// A page that is nowhere yet has no content to lose.
bool IsOfFile(uint64_t entry) {
  const bool is_present = entry >> 63 & 1, is_swapped = entry >> 62 & 1, is_file = entry >> 61 & 1;
  return !is_swapped && (!is_present || is_file);
}

// The kernel's entries for some pages, piece by piece.
class PageTable {
 public:
  static constexpr size_t kMost = 256;

  PageTable() : file_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~PageTable() {
    if (file_ >= 0) close(file_);
  }
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  // Those of the pages from the number `at` on.
  bool Read(size_t at, size_t count, uint64_t* entries) const {
    constexpr size_t kEntry = sizeof(*entries);
    return file_ >= 0 && pread(file_, entries, count * kEntry, static_cast<off_t>(at * kEntry)) ==
                             static_cast<ssize_t>(count * kEntry);
  }

 private:
  const int file_;
};

}  // namespace

// Some of a mapping's pages may be a file's and others written to: only the kernel's table of pages
// tells, not its list of mappings. Where it cannot be read nothing is given back.
void GiveFilePagesBack(const void* data, size_t size) {
  if (size < kLeastBytes) return;
  const size_t page = PageBytes();
  const auto begin = reinterpret_cast<uintptr_t>(data);
  size_t at = (begin + page - 1) / page;
  const size_t end = (begin + size) / page;
  const PageTable table;
  auto* to = static_cast<char*>(const_cast<void*>(data)) + (at * page - begin);
  uint64_t entries[PageTable::kMost];
  while (at < end) {
    const size_t count = std::min(end - at, PageTable::kMost);
    if (!table.Read(at, count, entries)) return;
    for (size_t i = 0; i < count;) {
      const size_t first = i;
      while (i < count && IsOfFile(entries[i])) ++i;
      if (i > first) madvise(to + first * page, (i - first) * page, MADV_DONTNEED);
      while (i < count && !IsOfFile(entries[i])) ++i;
    }
    at += count, to += count * page;
  }
}

bool AreFilePages(const void* data, size_t size) {
  const size_t page = PageBytes();
  const auto begin = reinterpret_cast<uintptr_t>(data);
  size_t at = begin / page;
  const size_t end = (begin + size + page - 1) / page;
  const PageTable table;
  uint64_t entries[PageTable::kMost];
  while (at < end) {
    const size_t count = std::min(end - at, PageTable::kMost);
    if (!table.Read(at, count, entries) || !std::all_of(entries, entries + count, IsOfFile)) {
      return false;
    }
    at += count;
  }
  return true;
}

void HashFilePages(const void* data, size_t size, ContentHash* hash) {
  constexpr size_t kPiece = 1 << 20;
  const auto* const bytes = static_cast<const char*>(data);
  size_t at = 0;
  do {
    const size_t piece = std::min(size - at, kPiece);
    hash->Add(bytes + at, piece);
    GiveFilePagesBack(bytes + at, piece);
    at += piece;
  } while (at < size);
  // A page that is read maps others before it.
  if (size > kPiece) GiveFilePagesBack(data, size);
}

}  // namespace quadra
