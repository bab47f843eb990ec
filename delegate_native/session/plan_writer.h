// Writes a plan into the cache in a thread of its own: hashing, writing and syncing a large model's
// file takes seconds, which no inference is to wait for.
#ifndef QUADRA_SESSION_PLAN_WRITER_H_
#define QUADRA_SESSION_PLAN_WRITER_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "delegate_native/cache/model_cache.h"
#include "delegate_native/plan/plan_bytes.h"
#include "delegate_native/plan/weights.h"

namespace quadra {

class PlanWriter {
 public:
  // Begins. Where the system gives no thread, the file is written before it returns. A process that
  // ends before the file is written leaves an unfinished one, which no start reads.
  PlanWriter(const ModelCache& cache, std::string key, const PlanBytes& plan,
             const PlanWeights& weights, std::vector<uint8_t> binaries);
  // Waits for the file.
  ~PlanWriter();
  PlanWriter(const PlanWriter&) = delete;
  PlanWriter& operator=(const PlanWriter&) = delete;

  bool is_done() const { return is_done_; }
  // A part of the report's sentence: "; saved". Waits for the file.
  const std::string& Result();

 private:
  static void* Run(void* writer);
  void Write();

  const ModelCache cache_;
  const std::string key_;
  const PlanBytes plan_;
  const PlanWeights weights_;
  std::vector<WeightsContent> contents_;  // of these
  const std::vector<uint8_t> binaries_;
  std::string result_;
  std::atomic<bool> is_done_{false};
  bool has_thread_;
  pthread_t thread_;
};

}  // namespace quadra

#endif  // QUADRA_SESSION_PLAN_WRITER_H_
