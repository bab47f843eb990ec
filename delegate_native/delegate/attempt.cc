#include "delegate_native/delegate/attempt.h"

#include <algorithm>
#include <string>
#include <utility>

#include "delegate_native/base/log.h"
#include "delegate_native/delegate/worthwhile.h"

namespace quadra {
namespace {

class Trial {
 public:
  Trial(const Options& options, const SubgraphView& subgraph, const Gpu& gpu)
      : options_(options),
        subgraph_(subgraph),
        context_(subgraph.context),
        model_(*subgraph.model),
        gpu_(gpu),
        precision_(PrecisionOf(options)),
        cache_(CacheOf(options)) {}

  Attempt Run() {
    const std::string key = VerdictsKey();
    Attempt kept;
    if (!key.empty()) {
      kept.saved_as = cache_.HoldVerdicts(key);
      const Status status = Restore(key, &kept);
      if (status.ok()) return kept;
      made_.saved_as = std::move(kept.saved_as);
      Log(2, "verdicts: %s", status.message().c_str());
    }
    Make();
    // Where they cannot be saved, neither can plans, and their partitions say why.
    const Status& status = made_.status;
    if ((status.ok() || status.code() == Code::kMiscompiled) && !key.empty()) {
      SaveVerdicts(cache_, key, made_.verdicts, made_.partitions, status);
    }
    return std::move(made_);
  }

 private:
  // The key that verdicts are kept under; empty: they are not kept.
  std::string VerdictsKey() const {
    // Files in dump_dir begin with the graph, which needs an import.
    if (!cache_.is_on() || !options_.dump_dir.empty()) return "";
    const std::string hash = HashOfModel(context_, model_, subgraph_.constants);
    if (hash.empty()) return "";
    const std::string options = ToText(options_) + (subgraph_.is_called ? "\ncalled" : "");
    return ModelCache::KeyOfVerdicts(hash, options, NameOf(precision_), gpu_.target,
                                     gpu_.backend->info());
  }

  // The attempt of an earlier start. Not ok: why one must be made anew.
  Status Restore(const std::string& key, Attempt* kept) const {
    PlanBytes file;
    const fb::Verdicts* saved;
    QUADRA_RETURN_IF_ERROR(cache_.LoadVerdicts(key, &file, &saved));
    kept->gpu = &gpu_;
    kept->verdicts = NameNodes(*context_, model_);
    QUADRA_RETURN_IF_ERROR(ReadVerdicts(*saved, &kept->verdicts));
    TfLiteDelegateParams* previews;
    int count;
    QUADRA_RETURN_IF_ERROR(Preview(kept->verdicts, &previews, &count));
    bool is_same = static_cast<int>(saved->partitions()->size()) == count;
    for (int i = 0; is_same && i < count; ++i) {
      const unsigned at = static_cast<unsigned>(i);
      auto partition = std::make_shared<Partition>();
      QUADRA_RETURN_IF_ERROR(ReadPartition(*saved->partitions()->Get(at), *context_, OptionsFor(at),
                                           gpu_.backend, partition.get()));
      is_same = partition->Has(*previews[i].nodes_to_replace);
      partition->model = subgraph_.model;
      partition->FindResources(model_);
      partition->allows_quantized = allows_quantized();
      kept->partitions.push_back(std::move(partition));
    }
    if (!is_same) return Unsupported("the interpreter makes other partitions");
    if (const flatbuffers::String* why = saved->miscompiled()) {
      kept->status = Status(Code::kMiscompiled, why->str());
    }
    subgraph_.model->CopyContext(*context_);
    return Status();
  }

  void Make() {
    made_.gpu = &gpu_;
    Judged judged = Judge(context_, model_, gpu_.target, precision_, options_.float32_nodes,
                          allows_quantized());
    made_.verdicts = std::move(judged.verdicts);
    KeepOutsideOnCpu(options_, model_, &made_.verdicts);
    bool again = true;
    while (again) {
      again = false;
      const Status status = TryPartitions(&judged.known, &again);
      if (status.ok()) continue;
      made_.status = status;
      for (Verdict& verdict : made_.verdicts) {
        if (verdict.on_gpu) verdict.reason = status.message();
        verdict.on_gpu = false;
      }
      made_.partitions.clear();
    }
  }

  // Compiles what the interpreter would make of the accepted nodes. What fails goes back to the
  // CPU, which can change the other partitions: then it is to be called again.
  Status TryPartitions(KnownTensors* known, bool* again) {
    TfLiteDelegateParams* previews;
    int count;
    QUADRA_RETURN_IF_ERROR(Preview(made_.verdicts, &previews, &count));
    if (KeepUnworthyOnCpu(options_, context_, model_, *known, subgraph_.is_called, previews, count,
                          &made_.verdicts)) {
      *again = true;
      return Status();
    }
    const std::vector<std::shared_ptr<Partition>> before = std::move(made_.partitions);
    made_.partitions.clear();
    for (const TfLiteDelegateParams* preview = previews; preview != previews + count; ++preview) {
      const auto same = std::find_if(before.begin(), before.end(), [&](const auto& partition) {
        return partition->Has(*preview->nodes_to_replace);
      });
      if (same != before.end()) {
        made_.partitions.push_back(*same);
        continue;
      }
      auto partition = std::make_shared<Partition>();
      const Status status = MakePartition(context_, model_, *preview, known, gpu_.backend,
                                          OptionsFor(made_.partitions.size()), partition.get());
      if (status.ok()) {
        made_.partitions.push_back(std::move(partition));
      } else {
        KeepFailedOnCpu(*partition, status);
        // One that may not be there the next time is told before one that will.
        if (made_.status.ok() || made_.status.code() == Code::kMiscompiled) made_.status = status;
        *again = true;
      }
    }
    return Status();
  }

  // The nodes of programs that compute wrong numbers; all of a partition where there are none of
  // these.
  void KeepFailedOnCpu(const Partition& partition, const Status& status) {
    const bool miscompiled = status.code() == Code::kMiscompiled;
    const size_t before = made_.nodes_on_gpu();
    const Miscompiled* one = miscompiled ? partition.session->miscompiled() : nullptr;
    for (; one; one = one->next.get()) KeepOnCpu(model_, one->nodes, one->why, &made_.verdicts);
    if (made_.nodes_on_gpu() < before) return;
    const std::string reason = (miscompiled ? "" : "its partition cannot run: ") + status.message();
    Log(1, "a partition (nodes: %zu) goes back to the CPU: %s", partition.nodes.size(),
        status.message().c_str());
    KeepOnCpu(model_, partition.nodes, reason, &made_.verdicts);
  }

  // The partitions that these nodes would make. They are the interpreter's, until it is asked
  // again.
  Status Preview(const std::vector<Verdict>& verdicts, TfLiteDelegateParams** previews,
                 int* count) const {
    const IntArray nodes = NodesOnGpu(verdicts);
    *previews = nullptr;
    *count = 0;
    if (!nodes || context_->PreviewDelegatePartitioning(context_, nodes.get(), previews, count) !=
                      kTfLiteOk) {
      return Internal("the interpreter could not partition the graph");
    }
    return Status();
  }

  SessionOptions OptionsFor(size_t partition) const {
    SessionOptions options = SessionOptionsFor(options_, gpu_);
    if (!options_.dump_dir.empty()) {
      const size_t number = subgraph_.first_partition + partition;
      options.dump_dir = options_.dump_dir + Format("/partition_%zu", number);
      options.dump_tensors = options_.dump_tensors != 0;
    }
    return options;
  }

  bool allows_quantized() const { return options_.quantized_models_allowed != 0; }

  const Options& options_;
  const SubgraphView& subgraph_;
  TfLiteContext* const context_;
  const ModelNodes& model_;
  const Gpu& gpu_;
  const Precision precision_;
  const ModelCache cache_;
  Attempt made_;
};

}  // namespace

size_t Attempt::nodes_on_gpu() const {
  return static_cast<size_t>(std::count_if(verdicts.begin(), verdicts.end(),
                                           [](const Verdict& verdict) { return verdict.on_gpu; }));
}

ModelCache CacheOf(const Options& options) {
  return ModelCache(options.serialization_dir, options.model_token,
                    int64_t{options.cache_limit_mib} << 20);
}

SessionOptions SessionOptionsFor(const Options& from, const Gpu& gpu) {
  SessionOptions options;
  options.target = gpu.target;
  options.precision = PrecisionOf(from);
  options.float32_nodes = from.float32_nodes;
  options.tuning = from.tuning;
  options.self_check = from.self_check != 0;
  options.profile = from.profile != 0;
  options.cache = CacheOf(from);
  options.weights = gpu.weights;
  return options;
}

Attempt TryBackend(const Options& options, const SubgraphView& subgraph, const Gpu& gpu) {
  Attempt attempt = Trial(options, subgraph, gpu).Run();
  size_t number = subgraph.first_partition;
  for (const auto& partition : attempt.partitions) {
    for (Verdict& verdict : attempt.verdicts) {
      const std::vector<int>& nodes = partition->nodes;
      if (std::find(nodes.begin(), nodes.end(), verdict.node) != nodes.end()) {
        verdict.partition = static_cast<int>(number);
      }
    }
    ++number;
  }
  return attempt;
}

}  // namespace quadra
