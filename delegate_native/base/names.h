// Lists of names as one text each (texts.h): no array of pointers, no relocations.
#ifndef QUADRA_BASE_NAMES_H_
#define QUADRA_BASE_NAMES_H_

#include <string>

#include "delegate_native/base/texts.h"

namespace quadra {

// One name of a list of QUADRA_NAMES, by its place from 0; empty beyond the list.
std::string NameAt(const char* names, int place);

}  // namespace quadra

// The literal has a newline behind each name.
#define QUADRA_NAMES(literal) QUADRA_TEXT(literal)

#endif  // QUADRA_BASE_NAMES_H_
