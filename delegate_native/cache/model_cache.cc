#include "delegate_native/cache/model_cache.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "delegate_native/base/content_hash.h"
#include "delegate_native/base/known_hashes.h"
#include "delegate_native/base/lean/mutex.h"
#include "delegate_native/base/log.h"
#include "delegate_native/base/version.h"
#include "delegate_native/cache/build_id.h"
#include "delegate_native/cache/cache_file.h"
#include "delegate_native/cache/prune.h"
#include "delegate_native/cache/unfinished_weights.h"
#include "delegate_native/cache/weights_file.h"
#include "delegate_native/cache/whole_file.h"
#include "delegate_native/plan/check_plan.h"

namespace quadra {
namespace {

Status CheckPlanAndBinaries(Part plan, Part binaries) {
  QUADRA_RETURN_IF_ERROR(CheckPlan(plan.data, plan.size));
  return CheckBinaries(binaries.data, binaries.size);
}

Status CheckOnlyVerdicts(Part verdicts, Part) {
  return CheckVerdicts(verdicts.data, verdicts.size);
}

Status CheckOnlyHashes(Part hashes, Part) {
  const bool is_whole = hashes.size % sizeof(KnownHash) == 0;
  if (is_whole && hashes.size <= KnownHashes::kMost * sizeof(KnownHash)) return Status();
  return Unsupported("its hashes are damaged");
}

// They do not depend on the build, but the way of hashing might.
std::string KeyOfHashes() {
  return TextOf("hashes of files, library %s, build %s\n", kVersion, BuildId().c_str());
}

std::string KeyFor(const std::string& content, const std::string& precision, const GpuInfo& target,
                   const GpuInfo& device) {
  return TextOf("library %s, build %s, %d bits\nprecision %s\n", kVersion, BuildId().c_str(),
                static_cast<int>(sizeof(void*)) * 8, precision.c_str()) +
         content + "\ntarget " + ToJson(target) + "\ndevice " + ToJson(device) + "\n";
}

// Writes the large constants of a plan that others may have as well; `all` gets them as they lie in
// the plan. One plan of this process after the other: the next one finds what the last one wrote.
Status WriteAll(const std::string& path, const PlanBytes& plan,
                const std::vector<WeightsContent>& weights, std::vector<WeightsAt>* all) {
  static Mutex* const mutex = new Mutex;  // it stays when the process ends
  const MutexLock lock(mutex);
  const auto& buffers = *fb::GetPlan(plan.data())->buffers();
  for (unsigned i = 0; i < buffers.size(); ++i) {
    const fb::Buffer& buffer = *buffers.Get(i);
    if (buffer.kind() != fb::BufferKind_Constant || buffer.content_high() == 0) continue;
    const uint8_t* const own = buffer.data()->data();
    const WeightsAt at = {static_cast<uint64_t>(own - plan.data()), buffer.bytes(),
                          buffer.content_low(), buffer.content_high()};
    const WeightsContent content = weights.empty() ? WeightsContent{own, nullptr} : weights[i];
    QUADRA_RETURN_IF_ERROR(WriteWeights(PathOfWeights(path, at), at, content));
    const auto lies_before = [](const WeightsAt& a, const WeightsAt& b) {
      return a.offset < b.offset;
    };
    all->insert(std::upper_bound(all->begin(), all->end(), at, lies_before), at);
  }
  return Status();
}

// Those that live objects of this process use.
struct HeldFiles {
  Mutex mutex;
  HeldFile* first = nullptr;
};

// It stays when the process ends: a thread may be writing a file then.
HeldFiles* Held() {
  static HeldFiles* const held = new HeldFiles;
  return held;
}

}  // namespace

HeldFile::HeldFile(std::string path) : path_(std::move(path)) {
  HeldFiles* const held = Held();
  const MutexLock lock(&held->mutex);
  next_ = std::exchange(held->first, this);
}

HeldFile::~HeldFile() {
  HeldFiles* const held = Held();
  const MutexLock lock(&held->mutex);
  HeldFile** at = &held->first;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
}

bool HeldFile::Has(const std::string& path) {
  HeldFiles* const held = Held();
  const MutexLock lock(&held->mutex);
  const HeldFile* one = held->first;
  while (one && one->path_ != path) one = one->next_;
  return one;
}

bool ModelCache::is_on() const { return !folder_.empty() && !BuildId().empty(); }

std::string ModelCache::HashOfGraph(const Graph& graph) {
  ContentHash hash;
  ConstantHashes constants;
  hash.Add(PrintNodes(graph));
  for (const Value& value : graph.values) {
    hash.Add(value.rank);
    if (value.constant) value.constant->AddTo(&hash, &constants);
  }
  return hash.hex();
}

std::string ModelCache::KeyOfPlan(const std::string& graph_hash, const std::string& build_options,
                                  const GpuInfo& target, const GpuInfo& device) {
  const auto for_any_driver = [](GpuInfo info) {
    info.driver = info.api_version = "";
    return info;
  };
  return KeyFor("graph " + graph_hash, build_options, for_any_driver(target),
                for_any_driver(device));
}

std::string ModelCache::KeyOfVerdicts(const std::string& model_hash, const std::string& options,
                                      const std::string& precision, const GpuInfo& target,
                                      const GpuInfo& device) {
  return KeyFor("model " + model_hash + "\noptions" + options, precision, target, device);
}

std::string ModelCache::PathOf(const std::string& key, const char* ending) const {
  ContentHash hash;
  hash.Add(key);
  return folder_ + "/" + token_ + "_" + hash.hex() + ending;
}

Status ModelCache::MakeFolder() const { return quadra::MakeFolder(folder_); }

std::string ModelCache::PruneAfter(const std::string& just_saved) const {
  std::string removed = Prune(folder_, just_saved, most_bytes_);
  if (!removed.empty()) Log(1, "cache: %s", removed.c_str());
  return removed;
}

Status ModelCache::Load(const std::string& key, PlanBytes* plan,
                        const fb::Binaries** binaries) const {
  Part part;
  QUADRA_RETURN_IF_ERROR(
      ReadCacheFile(PathOf(key, kEnding), key, CheckPlanAndBinaries, plan, &part));
  *binaries = flatbuffers::GetRoot<fb::Binaries>(part.data);
  return Status();
}

Status ModelCache::Save(const std::string& key, const PlanBytes& plan,
                        const std::vector<WeightsContent>& weights,
                        const std::vector<uint8_t>& binaries, std::string* removed) const {
  QUADRA_RETURN_IF_ERROR(MakeFolder());
  const std::string path = PathOf(key, kEnding);
  std::vector<WeightsAt> list;
  QUADRA_RETURN_IF_ERROR(WriteAll(path, plan, weights, &list));
  QUADRA_RETURN_IF_ERROR(WriteCacheFile(path, key, {plan.data(), plan.size()}, list,
                                        {binaries.data(), binaries.size()}));
  *removed = PruneAfter(path);
  return Status();
}

std::shared_ptr<WeightsKeeper> ModelCache::MakeKeeper(const Weights& weights) const {
  const WeightsAt at = {0, weights.size, weights.low, weights.high};
  return std::make_shared<UnfinishedWeights>(folder_, PathOfWeights(PathOf("", kEnding), at), at);
}

std::unique_ptr<HeldFile> ModelCache::HoldPlan(const std::string& key) const {
  return std::make_unique<HeldFile>(PathOf(key, kEnding));
}

std::unique_ptr<HeldFile> ModelCache::HoldVerdicts(const std::string& key) const {
  return std::make_unique<HeldFile>(PathOf(key, kVerdicts));
}

Status ModelCache::LoadVerdicts(const std::string& key, PlanBytes* file,
                                const fb::Verdicts** verdicts) const {
  Part none;
  QUADRA_RETURN_IF_ERROR(
      ReadCacheFile(PathOf(key, kVerdicts), key, CheckOnlyVerdicts, file, &none));
  *verdicts = flatbuffers::GetRoot<fb::Verdicts>(file->data());
  return Status();
}

Status ModelCache::SaveVerdicts(const std::string& key, Part verdicts) const {
  QUADRA_RETURN_IF_ERROR(MakeFolder());
  const std::string path = PathOf(key, kVerdicts);
  QUADRA_RETURN_IF_ERROR(WriteCacheFile(path, key, verdicts, {}, {}));
  PruneAfter(path);
  return Status();
}

std::vector<KnownHash> ModelCache::ReadHashes() const {
  const std::string key = KeyOfHashes();
  std::vector<KnownHash> hashes;
  PlanBytes file;
  Part none;
  if (!ReadCacheFile(PathOf(key, kHashes), key, CheckOnlyHashes, &file, &none).ok()) return hashes;
  hashes.resize(file.size() / sizeof(KnownHash));
  if (!hashes.empty()) memcpy(hashes.data(), file.data(), file.size());
  return hashes;
}

void ModelCache::LoadHashes() const {
  for (const KnownHash& hash : ReadHashes()) KnownHashes::OfProcess()->Add(hash);
}

// With what other processes have saved meanwhile. Of what two write at once one is lost, and will
// be read again.
void ModelCache::SaveHashes() const {
  std::vector<KnownHash> all = ReadHashes();
  const auto is_own = [](const KnownHash& hash) {
    return KnownHashes::OfProcess()->Has(hash.part);
  };
  all.erase(std::remove_if(all.begin(), all.end(), is_own), all.end());
  const std::vector<KnownHash> own = KnownHashes::OfProcess()->all();
  all.insert(all.end(), own.begin(), own.end());
  if (all.size() > KnownHashes::kMost) all.erase(all.begin(), all.end() - KnownHashes::kMost);
  const std::string key = KeyOfHashes();
  const Part hashes = {reinterpret_cast<const uint8_t*>(all.data()), all.size() * sizeof(all[0])};
  Status status = MakeFolder();
  if (status.ok()) status = WriteCacheFile(PathOf(key, kHashes), key, hashes, {}, {});
  if (!status.ok()) Log(2, "hashes of files: not saved: %s", status.message().c_str());
}

}  // namespace quadra
