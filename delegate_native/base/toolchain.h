#ifndef QUADRA_BASE_TOOLCHAIN_H_
#define QUADRA_BASE_TOOLCHAIN_H_

namespace quadra {

// The toolchain that made this library. The same words are a note of the file (owner "Quadra", type
// 1): tools read them without running it.
const char* Toolchain();

}  // namespace quadra

#endif  // QUADRA_BASE_TOOLCHAIN_H_
