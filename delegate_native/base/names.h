// Lists of names as one text each, packed (base/packing.h): no array of pointers, no relocations.
#ifndef QUADRA_BASE_NAMES_H_
#define QUADRA_BASE_NAMES_H_

#include <string>

#include "delegate_native/base/packing.h"
#include "delegate_native/base/sentence_words.h"

namespace quadra {

// One of the names of QUADRA_NAMES, by its place from 0; empty beyond the list.
std::string NameAt(const char* packed, int place);

}  // namespace quadra

// The literal has a newline behind each name.
#define QUADRA_NAMES(literal) QUADRA_PACKED(SentenceWords, literal)

#endif  // QUADRA_BASE_NAMES_H_
