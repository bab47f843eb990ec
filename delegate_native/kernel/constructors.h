// Constructors as OpenCL C writes them.
#ifndef QUADRA_KERNEL_CONSTRUCTORS_H_
#define QUADRA_KERNEL_CONSTRUCTORS_H_

#include <string>

namespace quadra {

// `text` with a cast in place of each constructor: ((vec4)(a, b)) for vec4(a, b). Macros could not
// do it: OpenCL C has none of any number of arguments, and none may hide a keyword such as float.
std::string WithCasts(const std::string& text);

}  // namespace quadra

#endif  // QUADRA_KERNEL_CONSTRUCTORS_H_
