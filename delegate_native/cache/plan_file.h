// A file that holds one plan, its programs as the driver compiled them, and the words that both
// were kept under. Or two other parts. Everything is checked before a reader sees a byte of the
// plan: a file of any content is a plan or a sentence.
//
//   header | words | zeros up to a multiple of 64 | plan | zeros up to one | binaries
//
// The header (104 bytes): magic, format, byte order, pointer size, sizes of the three parts, their
// hashes, and the hash of all that.
#ifndef QUADRA_CACHE_PLAN_FILE_H_
#define QUADRA_CACHE_PLAN_FILE_H_

#include <cstdint>
#include <string>

#include "delegate_native/base/status.h"
#include "delegate_native/plan/make_plan.h"

namespace quadra {

// Bytes of a part of a file.
struct Part {
  const uint8_t* data;
  size_t size;
};
// Whether the parts are what they should be.
using CheckParts = Status (*)(Part plan, Part binaries);

// The plan of a file that was written for exactly these words: the file itself, mapped. `binaries`
// lie in it, and go with the plan.
Status ReadPlanFile(const std::string& path, const std::string& words, CheckParts check,
                    PlanBytes* plan, Part* binaries);

// Writes beside `path` and renames: a reader sees the whole file or none, and who has mapped the
// file before keeps what it was. Nothing is left of a write that fails. Readable by this user only.
Status WritePlanFile(const std::string& path, const std::string& words, Part plan, Part binaries);

// The ending of files that are still being written.
extern const char kUnfinished[];

}  // namespace quadra

#endif  // QUADRA_CACHE_PLAN_FILE_H_
