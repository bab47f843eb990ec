// Large constants of plans in files of their own, so that the plans of a model, of which several
// have the same weights, have them in the folder once. Such a file is the numbers and nothing
// else; its name has their hash, and the plan's file says where they belong in the plan.
#ifndef QUADRA_CACHE_WEIGHTS_FILE_H_
#define QUADRA_CACHE_WEIGHTS_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "delegate_native/base/status.h"
#include "delegate_native/plan/weights.h"

namespace quadra {

extern const char kWeights[];  // the ending of such files

// A part of a plan that is in a file of weights; as it lies in the plan's file.
struct WeightsAt {
  uint64_t offset, size;  // in the plan's bytes
  uint64_t low, high;     // the hash of its content
};
static_assert(sizeof(WeightsAt) == 32, "written as it lies in memory");

// It lies beside the plan's file `plan_path`, with the same token in front.
std::string PathOfWeights(const std::string& plan_path, const WeightsAt& weights);

// Puts the content at `to`, where pages are writable; whole pages are those of the file, mapped.
// Not ok: the file has not what the hash says, or is not there. A file that some process has
// checked is not read again, until it is changed.
Status ReadWeights(const std::string& path, const WeightsAt& weights, uint8_t* to);

// Where the content of weights is that a file is to have.
struct WeightsContent {
  const uint8_t* data = nullptr;          // null: not in the host's memory
  std::shared_ptr<WeightsKeeper> keeper;  // null: none
};

// Nothing is written where the file is there and whole.
Status WriteWeights(const std::string& path, const WeightsAt& weights,
                    const WeightsContent& content);

// Whether the file is there, and was found to be whole. Reads next to nothing of it.
bool IsKnownToBeWhole(const std::string& path, const WeightsAt& weights);

}  // namespace quadra

#endif  // QUADRA_CACHE_WEIGHTS_FILE_H_
