// Plans of earlier starts, with their programs as the driver compiled them, in a folder that
// processes and models share. What is wrong with it costs time and nothing else.
#ifndef QUADRA_CACHE_PLAN_CACHE_H_
#define QUADRA_CACHE_PLAN_CACHE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/cache/plan_file.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/plan/make_plan.h"
#include "delegate_native/plan/plan_generated.h"

namespace quadra {

class PlanCache {
 public:
  // `folder`: none, and nothing is kept. `token` begins the names of its files.
  PlanCache(std::string folder, std::string token, int64_t most_bytes = int64_t{1} << 30)
      : folder_(std::move(folder)), token_(std::move(token)), most_bytes_(most_bytes) {}

  // Not without a folder, nor where two builds of this library could not be told apart.
  bool is_on() const;
  // The graph and its numbers.
  static std::string HashOf(const Graph& graph);
  // All that a plan follows from, for a person to read: this library, `content` ("graph" and its
  // hash), the target, the device and its driver.
  // `any_driver`: an update of the driver changes nothing of it.
  static std::string WordsFor(const std::string& content, const GpuInfo& target,
                              const GpuInfo& device, const std::string& precision,
                              bool any_driver = false);

  // Not ok: why there is none. `binaries` live as long as the plan.
  Status Load(const std::string& words, PlanBytes* plan, const fb::Binaries** binaries) const;
  // Makes the folder if need be; then removes what was not used for longest, beyond the limit.
  Status Save(const std::string& words, const PlanBytes& plan,
              const std::vector<uint8_t>& binaries) const;

  // The same of a model's verdicts, of which only the hashes are checked.
  Status LoadVerdicts(const std::string& words, PlanBytes* numbers, Part* texts) const;
  Status SaveVerdicts(const std::string& words, Part numbers, Part texts) const;

 private:
  std::string PathOf(const std::string& words, const char* ending) const;
  Status Write(const std::string& path, const std::string& words, Part plan, Part binaries) const;
  void Prune(const std::string& just_saved) const;

  std::string folder_, token_;
  int64_t most_bytes_;  // of all files in the folder
};

}  // namespace quadra

#endif  // QUADRA_CACHE_PLAN_CACHE_H_
