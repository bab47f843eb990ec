// The format of the cache's files: a header, the key, and three parts.
//
//   header | key | zeros up to a multiple of 64 | weights | zeros up to one | plan |
//   zeros up to one | binaries
//
// The header (128 bytes): magic, format, byte order, pointer size, sizes of the four, their
// hashes, and the hash of all that. `weights` are the WeightsAt of the plan, by their offsets: what
// is in files of weights is not in `plan`, which is the rest of it, joined. Everything is checked
// before a reader sees a byte of the plan: reading files of any content gives the parts or an
// error. A file of verdicts has fb::Verdicts instead of the plan, no weights and no binaries.
#ifndef QUADRA_CACHE_CACHE_FILE_H_
#define QUADRA_CACHE_CACHE_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/cache/weights_file.h"
#include "delegate_native/plan/plan_bytes.h"

namespace quadra {

// Bytes of a part of a file.
struct Part {
  const uint8_t* data;
  size_t size;
};
// Whether the parts are what they should be.
using CheckParts = Status (*)(Part plan, Part binaries);

// The plan of a file that was written for exactly this key: the file itself, mapped, or where it
// has weights, those files' pages between a copy of the rest. `binaries` go with the plan.
Status ReadCacheFile(const std::string& path, const std::string& key, CheckParts check,
                     PlanBytes* plan, Part* binaries);

// A reader sees the whole file or none. `weights`: parts of the plan by their offsets, which the
// caller has written into files of theirs. Readable by this user only.
Status WriteCacheFile(const std::string& path, const std::string& key, Part plan,
                      const std::vector<WeightsAt>& weights, Part binaries);

// The weights that the plan of a file needs beside it; nothing where the file is damaged.
std::vector<WeightsAt> WeightsOfCacheFile(const std::string& path);

}  // namespace quadra

#endif  // QUADRA_CACHE_CACHE_FILE_H_
