// The functions of a library that is opened at run time, as a struct of pointers to them.
#ifndef QUADRA_BASE_FUNCTIONS_H_
#define QUADRA_BASE_FUNCTIONS_H_

#include <string>

#include "delegate_native/base/lean/function.h"

namespace quadra {

// Writes one pointer after the other to `pointers`, in the order of `names` (names.h). Where `find`
// gives null, returns the name: all of them, with commas between them.
std::string FindFunctions(const Function<void*(const char* name)>& find, const char* names,
                          void* pointers);

}  // namespace quadra

#endif  // QUADRA_BASE_FUNCTIONS_H_
