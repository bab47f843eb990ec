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
// What is nowhere yet has no content to lose.
bool IsOfFile(uint64_t entry) {
  const bool is_present = entry >> 63 & 1, is_swapped = entry >> 62 & 1, is_file = entry >> 61 & 1;
  return !is_swapped && (!is_present || is_file);
}

}  // namespace

// Of a mapping's pages some may be a file's and others written to: only the kernel's table of pages
// tells, not its list of mappings. Where it cannot be read nothing is given back.
void GiveFilePagesBack(const void* data, size_t size) {
  if (size < kLeastBytes) return;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(data);
  size_t at = (begin + page - 1) / page;
  const size_t end = (begin + size) / page;
  const int table = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (table < 0) return;
  uint64_t entries[256];
  constexpr size_t kMost = sizeof(entries) / sizeof(entries[0]);
  while (at < end) {
    const size_t bytes = std::min(end - at, kMost) * sizeof(entries[0]);
    const auto offset = static_cast<off_t>(at * sizeof(entries[0]));
    if (pread(table, entries, bytes, offset) != static_cast<ssize_t>(bytes)) break;
    const uint64_t* const last = entries + bytes / sizeof(entries[0]);
    for (const uint64_t* entry = entries; entry != last;) {
      const uint64_t* const run = entry;
      while (entry != last && IsOfFile(*entry)) ++entry;
      const auto pages = static_cast<size_t>(entry - run);
      if (pages > 0) madvise(reinterpret_cast<void*>(at * page), pages * page, MADV_DONTNEED);
      at += pages;
      while (entry != last && !IsOfFile(*entry)) ++entry, ++at;
    }
  }
  close(table);
}

}  // namespace quadra
