#include "delegate_native/cache/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstring>

#include "delegate_native/base/status.h"

// Where the library begins in memory: the linker says so.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];  // NOLINT

namespace quadra {
namespace {

size_t Padded(size_t size) { return (size + 3) / 4 * 4; }

std::string FindIn(const char* note, const char* end) {
  while (end - note >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
    ElfW(Nhdr) head;
    memcpy(&head, note, sizeof(head));
    const char* owner = note + sizeof(head);
    const char* bytes = owner + Padded(head.n_namesz);
    note = bytes + Padded(head.n_descsz);
    if (note > end) break;
    if (head.n_type != NT_GNU_BUILD_ID || head.n_namesz != 4 || memcmp(owner, "GNU", 4) != 0) {
      continue;
    }
    std::string digits;
    for (size_t i = 0; i < head.n_descsz; ++i) {
      digits += Format("%02x", static_cast<unsigned>(static_cast<unsigned char>(bytes[i])));
    }
    return digits;
  }
  return "";
}

}  // namespace

std::string BuildId() {
  ElfW(Ehdr) library;
  memcpy(&library, __ehdr_start, sizeof(library));
  for (int i = 0; i < library.e_phnum; ++i) {
    ElfW(Phdr) part;
    memcpy(&part, __ehdr_start + library.e_phoff + static_cast<size_t>(i) * library.e_phentsize,
           sizeof(part));
    if (part.p_type != PT_NOTE) continue;
    const char* note = __ehdr_start + part.p_vaddr;
    const std::string found = FindIn(note, note + part.p_memsz);
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace quadra
