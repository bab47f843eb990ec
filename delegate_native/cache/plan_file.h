// A file that holds one plan and the words it was kept under. Everything is checked before a reader
// sees a byte of the plan: a file of any content is a plan or a sentence.
//
//   magic, format, byte order, pointer size, sizes, hashes of the two parts and of all that (80
//   bytes) | words | zeros up to a multiple of 64 | plan
#ifndef QUADRA_CACHE_PLAN_FILE_H_
#define QUADRA_CACHE_PLAN_FILE_H_

#include <string>

#include "delegate_native/base/status.h"
#include "delegate_native/plan/make_plan.h"

namespace quadra {

// The plan of a file that was written for exactly these words.
Status ReadPlanFile(const std::string& path, const std::string& words, PlanBytes* plan);

// Writes beside `path` and renames: a reader sees the whole file or none. Nothing is left of a
// write that fails. Readable by this user only.
Status WritePlanFile(const std::string& path, const std::string& words, const PlanBytes& plan);

// The ending of files that are still being written.
extern const char kUnfinished[];

}  // namespace quadra

#endif  // QUADRA_CACHE_PLAN_FILE_H_
