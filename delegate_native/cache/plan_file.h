// A file that holds one plan, its programs as the driver compiled them, and the words that both
// were kept under. Everything is checked before a reader sees a byte of the plan: a file of any
// content is a plan or a sentence.
//
//   header | words | zeros up to a multiple of 64 | plan | zeros up to one | binaries
//
// The header (104 bytes): magic, format, byte order, pointer size, sizes of the three parts, their
// hashes, and the hash of all that.
#ifndef QUADRA_CACHE_PLAN_FILE_H_
#define QUADRA_CACHE_PLAN_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/plan/make_plan.h"
#include "delegate_native/plan/plan_generated.h"

namespace quadra {

// The plan of a file that was written for exactly these words: the file itself, mapped. `binaries`
// lie in it, and go with the plan.
Status ReadPlanFile(const std::string& path, const std::string& words, PlanBytes* plan,
                    const fb::Binaries** binaries);

// Writes beside `path` and renames: a reader sees the whole file or none, and who has mapped the
// file before keeps what it was. Nothing is left of a write that fails. Readable by this user only.
// `binaries`: the bytes of fb::Binaries.
Status WritePlanFile(const std::string& path, const std::string& words, const PlanBytes& plan,
                     const std::vector<uint8_t>& binaries);

// The ending of files that are still being written.
extern const char kUnfinished[];

}  // namespace quadra

#endif  // QUADRA_CACHE_PLAN_FILE_H_
