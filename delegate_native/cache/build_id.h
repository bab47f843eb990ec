// Which build of the library this is.
#ifndef QUADRA_CACHE_BUILD_ID_H_
#define QUADRA_CACHE_BUILD_ID_H_

#include <string>

namespace quadra {

// The linker's hash of everything in this library, in hexadecimal digits; empty: it left none.
std::string BuildId();

}  // namespace quadra

#endif  // QUADRA_CACHE_BUILD_ID_H_
