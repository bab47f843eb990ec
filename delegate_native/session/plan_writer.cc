#include "delegate_native/session/plan_writer.h"

#include <utility>

#include "delegate_native/base/lean/thread.h"
#include "delegate_native/base/log.h"

namespace quadra {

PlanWriter::PlanWriter(const ModelCache& cache, std::string key, const PlanBytes& plan,
                       const PlanWeights& weights, std::vector<uint8_t> binaries)
    : cache_(cache),
      key_(std::move(key)),
      plan_(plan),
      weights_(weights),
      binaries_(std::move(binaries)) {
  for (const auto& one : weights_) {
    contents_.emplace_back();
    if (!one) continue;
    contents_.back() = {one->data, one->keeper};
    one->BeginReading();
  }
  has_thread_ = StartThread("quadra-cache", Run, this, &thread_) == 0;
  if (!has_thread_) Write();
}

PlanWriter::~PlanWriter() {
  Result();
  for (const auto& one : weights_) {
    if (one) one->EndReading();
  }
}

const std::string& PlanWriter::Result() {
  if (std::exchange(has_thread_, false)) pthread_join(thread_, nullptr);
  return result_;
}

void* PlanWriter::Run(void* writer) {
  static_cast<PlanWriter*>(writer)->Write();
  return nullptr;
}

// A cache that cannot be written is no reason to fail.
void PlanWriter::Write() {
  std::string removed;
  const Status status = cache_.Save(key_, plan_, contents_, binaries_, &removed);
  result_ = status.ok() ? "; saved" : "; not saved: " + status.message();
  if (!removed.empty()) result_ += "; " + removed;
  Log(status.ok() ? 2 : 1, "cache: %s", result_.c_str() + 2);
  is_done_ = true;
}

}  // namespace quadra
