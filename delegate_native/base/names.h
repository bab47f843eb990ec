// Lists of names as one text each, packed (base/packing.h): no array of pointers, no relocations.
#ifndef QUADRA_BASE_NAMES_H_
#define QUADRA_BASE_NAMES_H_

#include <string>

#include "delegate_native/base/packing.h"
#include "delegate_native/base/sentence_words.h"

namespace quadra {

// A list of QUADRA_NAMES, for NameAt. Who asks often keeps it: this takes microseconds.
std::string UnpackedNames(const char* packed);
// One of its names, by its place from 0; empty beyond the list.
std::string NameAt(const std::string& names, int place);

}  // namespace quadra

// The literal has a newline behind each name.
#define QUADRA_NAMES(literal) QUADRA_PACKED(SentenceWords, literal)

#endif  // QUADRA_BASE_NAMES_H_
