// Large constants of plans. Those with equal numbers are in memory once, on the host and on the
// device, for all plans of a delegate: its partitions, subgraphs and signatures.
#ifndef QUADRA_PLAN_WEIGHTS_H_
#define QUADRA_PLAN_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "delegate_native/base/content_hash.h"
#include "delegate_native/base/status.h"
#include "delegate_native/plan/plan_generated.h"

namespace quadra {

// Gives the whole pages of some bytes back. They read as zeros then, or as the file has them.
void GiveBack(const uint8_t* data, size_t size);

// Keeps the content of weights that the host is about to give back.
class WeightsKeeper {
 public:
  virtual ~WeightsKeeper() = default;
  // Once; later calls do nothing. Whatever fails is what Finish says.
  virtual void Keep(const uint8_t* data) = 0;
  // In any thread. Ok: the content is where others find it.
  virtual Status Finish() = 0;
};

// A constant buffer of its own.
struct Weights {
  Weights(uint64_t content_low, uint64_t content_high, size_t bytes)
      : low(content_low), high(content_high), size(bytes) {}
  ~Weights() { Drop(); }
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  // The device has them.
  void Drop();
  // The device is about to have a copy of all that the host will not read again.
  void KeepContent() const {
    if (keeper && data) keeper->Keep(data);
  }
  // Between these somebody reads them: what is dropped meanwhile goes afterwards.
  void BeginReading() { ++readers_; }
  void EndReading();
  // For another plan that is as good as having them.
  bool IsOnDeviceAlone() const { return !data && is_for_device_alone && !on_device.expired(); }

  const uint64_t low, high;
  const size_t size;
  const uint8_t* data = nullptr;          // null: the host has them no more
  std::shared_ptr<const void> memory;     // of the plan that `data` is in
  std::weak_ptr<void> on_device;          // what a backend made of them
  bool is_for_device_alone = false;       // nobody reads them once the device has a copy
  std::shared_ptr<WeightsKeeper> keeper;  // who is to have the content before; null: nobody

 private:
  int readers_ = 0;
  bool is_unwanted_ = false;
};

// Parallel to a plan's buffers; null: the plan's own. May be empty: all are.
using PlanWeights = std::vector<std::shared_ptr<Weights>>;

class WeightStore {
 public:
  // The weights of a plan that is in `memory`. They are in the store as long as somebody has them.
  PlanWeights Share(const fb::Plan& plan, const std::shared_ptr<const void>& memory,
                    bool is_for_device_alone);
  // Whether they are there already. They stay until a plan that counts on them shares them.
  bool Has(uint64_t low, uint64_t high, size_t size);
  // Finds the content that a plan of this store made of a ConstantArg::source. False: none.
  bool Recall(const ContentHash& source, ContentHash* made) const;
  void Remember(const ContentHash& source, const ContentHash& made);

 private:
  std::shared_ptr<Weights> Find(uint64_t low, uint64_t high, size_t size) const;

  std::vector<std::weak_ptr<Weights>> known_;
  std::vector<std::shared_ptr<Weights>> promised_;         // to a plan that is being made
  std::vector<std::pair<ContentHash, ContentHash>> made_;  // of a source
};

}  // namespace quadra

#endif  // QUADRA_PLAN_WEIGHTS_H_
