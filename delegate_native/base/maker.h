#ifndef QUADRA_BASE_MAKER_H_
#define QUADRA_BASE_MAKER_H_

namespace quadra {

// The toolchain that made this library. The same words are a note of the file (owner "Quadra", type
// 1): tools read them without running it.
const char* Maker();

}  // namespace quadra

#endif  // QUADRA_BASE_MAKER_H_
