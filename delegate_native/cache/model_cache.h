// Plans of earlier starts, with their programs as the driver compiled them, and models' verdicts,
// in a folder that processes and models share. What is wrong with it costs time and nothing else.
#ifndef QUADRA_CACHE_MODEL_CACHE_H_
#define QUADRA_CACHE_MODEL_CACHE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "delegate_native/base/known_hashes.h"
#include "delegate_native/base/status.h"
#include "delegate_native/cache/cache_file.h"
#include "delegate_native/device/gpu_info.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/plan/plan_bytes.h"
#include "delegate_native/plan/plan_generated.h"

namespace quadra {

// A file that this process uses. No Save in this process removes it: the plans of one model, which
// together may exceed the limit, would push each other out at each start.
class HeldFile {
 public:
  explicit HeldFile(std::string path);
  ~HeldFile();
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;

  const std::string& path() const { return path_; }
  static bool Has(const std::string& path);

 private:
  const std::string path_;
  HeldFile* next_;  // in the list of all
};

class ModelCache {
 public:
  // `folder`: none, and nothing is kept. `token` begins the names of its files. `most_bytes`: of
  // all files in the folder; 0: no limit.
  ModelCache(std::string folder, std::string token, int64_t most_bytes)
      : folder_(std::move(folder)), token_(std::move(token)), most_bytes_(most_bytes) {}

  // Not without a folder, nor where two builds of this library could not be told apart.
  bool is_on() const;
  // The graph and its numbers.
  static std::string HashOfGraph(const Graph& graph);
  // The key of a file: a text that a person can read, with all that the content follows from. The
  // name of the file has its hash. The driver's version is in the key of verdicts, because a new
  // driver may compile what the old one did not. It is not in a plan's: beside the plan's binaries
  // stands which driver made them. `build_options`: its precision, and what else decides the plan
  // beside graph and target.
  static std::string KeyOfPlan(const std::string& graph_hash, const std::string& build_options,
                               const GpuInfo& target, const GpuInfo& device);
  static std::string KeyOfVerdicts(const std::string& model_hash, const std::string& options,
                                   const std::string& precision, const GpuInfo& target,
                                   const GpuInfo& device);

  // Not ok: why there is none. `binaries` live as long as the plan.
  Status Load(const std::string& key, PlanBytes* plan, const fb::Binaries** binaries) const;
  // Makes the folder if need be; then removes what was not used for longest, beyond the limit.
  // `removed`: a sentence on that, empty where there is nothing to say.
  // `weights`: parallel to the plan's buffers, where its large constants are. Empty: they are in
  // the plan.
  Status Save(const std::string& key, const PlanBytes& plan,
              const std::vector<WeightsContent>& weights, const std::vector<uint8_t>& binaries,
              std::string* removed) const;
  // For weights of a plan that will be saved: writes them before. Finish is a part of Save.
  std::shared_ptr<WeightsKeeper> MakeKeeper(const Weights& weights) const;
  std::unique_ptr<HeldFile> HoldPlan(const std::string& key) const;
  std::unique_ptr<HeldFile> HoldVerdicts(const std::string& key) const;

  // The same for a model's verdicts, which live as long as `file`.
  Status LoadVerdicts(const std::string& key, PlanBytes* file, const fb::Verdicts** verdicts) const;
  Status SaveVerdicts(const std::string& key, Part verdicts) const;

  // The hashes that earlier processes found of files of models and of weights
  // (base/known_hashes.h), in one file for all models; and those of this process. Where there is
  // none, or it is damaged, files are read again.
  void LoadHashes() const;
  void SaveHashes() const;

 private:
  std::string PathOf(const std::string& key, const char* ending) const;
  std::vector<KnownHash> ReadHashes() const;
  Status MakeFolder() const;
  std::string PruneAfter(const std::string& just_saved) const;

  std::string folder_, token_;
  int64_t most_bytes_;
};

}  // namespace quadra

#endif  // QUADRA_CACHE_MODEL_CACHE_H_
