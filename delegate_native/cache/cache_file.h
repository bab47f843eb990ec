// The format of the cache's files: a header, the key, and two parts.
//
//   header | key | zeros up to a multiple of 64 | plan | zeros up to one | binaries
//
// The header (104 bytes): magic, format, byte order, pointer size, sizes of the three, their
// hashes, and the hash of all that. Everything is checked before a reader sees a byte of the plan:
// reading a file of any content gives the parts or an error. A file of verdicts has fb::Verdicts
// instead of the plan, and no binaries.
#ifndef QUADRA_CACHE_CACHE_FILE_H_
#define QUADRA_CACHE_CACHE_FILE_H_

#include <cstdint>
#include <string>

#include "delegate_native/base/status.h"
#include "delegate_native/plan/plan_bytes.h"

namespace quadra {

// Bytes of a part of a file.
struct Part {
  const uint8_t* data;
  size_t size;
};
// Whether the parts are what they should be.
using CheckParts = Status (*)(Part plan, Part binaries);

// The plan of a file that was written for exactly this key: the file itself, mapped. `binaries`
// lie in it, and go with the plan.
Status ReadCacheFile(const std::string& path, const std::string& key, CheckParts check,
                     PlanBytes* plan, Part* binaries);

// Writes beside `path` and renames: a reader sees the whole file or none, and who has mapped the
// file before keeps what it was. Nothing is left of a write that fails. Readable by this user only.
Status WriteCacheFile(const std::string& path, const std::string& key, Part plan, Part binaries);

// The ending of files that are still being written.
extern const char kUnfinished[];

}  // namespace quadra

#endif  // QUADRA_CACHE_CACHE_FILE_H_
