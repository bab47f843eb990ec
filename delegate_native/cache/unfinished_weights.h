// Files of weights that are written before their plan's. A device that has a copy of its own needs
// the host's no more, and it is not to stay until the first inference has ended and its plan is
// saved.
#ifndef QUADRA_CACHE_UNFINISHED_WEIGHTS_H_
#define QUADRA_CACHE_UNFINISHED_WEIGHTS_H_

#include <memory>
#include <string>

#include "delegate_native/base/lean/mutex.h"
#include "delegate_native/cache/model_cache.h"
#include "delegate_native/cache/weights_file.h"
#include "delegate_native/cache/whole_file.h"
#include "delegate_native/plan/weights.h"

namespace quadra {

// Written next to the place of such a file, in `folder`, until Finish syncs it and gives it its
// name. Nothing is written where the file is known to be whole.
class UnfinishedWeights : public WeightsKeeper {
 public:
  UnfinishedWeights(std::string folder, const std::string& path, const WeightsAt& weights);
  void Keep(const uint8_t* data) override;
  Status Finish() override;

 private:
  enum class State { kUnknown, kAsked, kWritten };

  const std::string folder_, path_;
  const WeightsAt weights_;
  Mutex mutex_;
  std::unique_ptr<UnfinishedFile> file_;  // null: finished, or not to be
  const HeldFile held_;                   // however long the first inference is in coming
  State state_ = State::kUnknown;
  std::string refusal_;  // why it is not written, or not finished
};

}  // namespace quadra

#endif  // QUADRA_CACHE_UNFINISHED_WEIGHTS_H_
