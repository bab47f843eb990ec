#include "delegate_native/base/toolchain.h"

#include <cstdint>

// Android toolchains name themselves (bazel/android_ndk.bzl).
#ifndef QUADRA_TOOLCHAIN
#define QUADRA_TOOLCHAIN "this machine's compiler (" __VERSION__ ")"
#endif

namespace quadra {
namespace {

struct Note {
  uint32_t owner_size;
  uint32_t words_size;
  uint32_t type;
  char owner[8];
  char words[(sizeof(QUADRA_TOOLCHAIN) + 3) / 4 * 4];
};

__attribute__((section(".note.quadra"), used, aligned(4)))
const Note kNote = {7, sizeof(QUADRA_TOOLCHAIN), 1, "Quadra", QUADRA_TOOLCHAIN};

}  // namespace

const char* Toolchain() { return kNote.words; }

}  // namespace quadra
