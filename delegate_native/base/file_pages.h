// The pages of a mapped file that somebody has read are resident until the system wants them.
#ifndef QUADRA_BASE_FILE_PAGES_H_
#define QUADRA_BASE_FILE_PAGES_H_

#include <unistd.h>

#include <cstddef>

#include "delegate_native/base/content_hash.h"

namespace quadra {

inline size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

// Gives those whole pages of some bytes back that a file backs: whoever reads them again gets them
// from there. Other memory is left as it is: anonymous pages, and those of a file that were written
// to in a private mapping. Nobody may write the bytes meanwhile. Few bytes are not worth the calls.
void GiveFilePagesBack(const void* data, size_t size);

// Whether each page of them is as its file has it: none is anonymous memory, or was written to
// in a private mapping. False also where nobody tells.
bool AreFilePages(const void* data, size_t size);

// Adds them to a hash, and gives the pages back that it is done with.
void HashFilePages(const void* data, size_t size, ContentHash* hash);

}  // namespace quadra

#endif  // QUADRA_BASE_FILE_PAGES_H_
