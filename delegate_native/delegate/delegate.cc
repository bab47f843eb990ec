#include "delegate_native/delegate/delegate.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "delegate_native/base/log.h"
#include "delegate_native/delegate/kept_verdicts.h"
#include "delegate_native/delegate/worthwhile.h"

namespace quadra {
namespace {

// ---- callbacks of the interpreter; the one place that turns Status into TfLiteStatus ----

TfLiteStatus Answer(TfLiteContext* context, const Status& status) {
  if (status.ok()) return kTfLiteOk;
  if (context->ReportError) {
    context->ReportError(context, "Quadra: %s: %s. ", CodeName(status.code()),
                         status.message().c_str());
  }
  return kTfLiteError;
}

// What a kernel of the interpreter owns. It may outlive the delegate, so it shares the partition.
struct KernelData {
  std::shared_ptr<Partition> partition;
};

void* InitKernel(TfLiteContext*, const char* buffer, size_t) {
  const TfLiteDelegateParams* params = reinterpret_cast<const TfLiteDelegateParams*>(buffer);
  return new KernelData{Delegate::From(params->delegate)->FindPartition(params->nodes_to_replace)};
}

void FreeKernel(TfLiteContext*, void* data) { delete static_cast<KernelData*>(data); }

Partition* PartitionOf(const TfLiteNode* node) {
  return node->user_data ? static_cast<KernelData*>(node->user_data)->partition.get() : nullptr;
}

TfLiteStatus PrepareKernel(TfLiteContext* context, TfLiteNode* node) {
  Partition* partition = PartitionOf(node);
  if (!partition) {
    return Answer(context, Internal("the interpreter made other partitions than it announced"));
  }
  return Answer(context, partition->Prepare(context));
}

TfLiteStatus InvokeKernel(TfLiteContext* context, TfLiteNode* node) {
  return Answer(context, PartitionOf(node)->Invoke(context));
}

TfLiteRegistration Registration() {
  TfLiteRegistration registration{};
  registration.init = InitKernel;
  registration.free = FreeKernel;
  registration.prepare = PrepareKernel;
  registration.invoke = InvokeKernel;
  registration.custom_name = "QuadraDelegate";
  registration.version = 1;
  return registration;
}

TfLiteStatus ApplyDelegate(TfLiteContext* context, TfLiteDelegate* delegate) {
  return Answer(context, Delegate::From(delegate)->Apply(context));
}

// TFLite's int array with the nodes that are on the GPU; free() it.
TfLiteIntArray* NodesOnGpu(const std::vector<Verdict>& verdicts) {
  TfLiteIntArray* nodes =
      static_cast<TfLiteIntArray*>(malloc(sizeof(TfLiteIntArray) + sizeof(int) * verdicts.size()));
  if (!nodes) return nullptr;
  nodes->size = 0;
  for (const Verdict& verdict : verdicts) {
    if (verdict.on_gpu) nodes->data[nodes->size++] = verdict.node;
  }
  return nodes;
}

// The partitions that these nodes would make. They are the interpreter's, until it is asked again.
Status Preview(TfLiteContext* context, const std::vector<Verdict>& verdicts,
               TfLiteDelegateParams** previews, int* count) {
  std::unique_ptr<TfLiteIntArray, decltype(&free)> nodes(NodesOnGpu(verdicts), &free);
  *previews = nullptr;
  *count = 0;
  if (!nodes ||
      context->PreviewDelegatePartitioning(context, nodes.get(), previews, count) != kTfLiteOk) {
    return Internal("the interpreter could not partition the graph");
  }
  return Status();
}

// Which subgraph of the model this is; the context itself does not tell.
int SubgraphOf(TfLiteContext* context) {
  for (int i = 0;; ++i) {
    TfLiteContext* other = nullptr;
    if (context->AcquireSubgraphContext(context, i, &other) != kTfLiteOk) return 0;
    if (other == context) return i;
    context->ReleaseSubgraphContext(context, i);
  }
}

bool HasSeveralSubgraphs(TfLiteContext* context) {
  TfLiteContext* second = nullptr;
  if (context->AcquireSubgraphContext(context, 1, &second) != kTfLiteOk) return false;
  context->ReleaseSubgraphContext(context, 1);
  return true;
}

ModelCache CacheOf(const Options& options) {
  return ModelCache(options.serialization_dir, options.model_token);
}

bool SameNodes(const std::vector<int>& nodes, const TfLiteIntArray* other) {
  return static_cast<int>(nodes.size()) == other->size &&
         std::equal(nodes.begin(), nodes.end(), other->data);
}

}  // namespace

Delegate::Delegate(Options options, const VerdictListener& listener)
    : options_(std::move(options)), listener_(listener) {
  SetLogLevel(options_.debug);
  Candidate candidate;
  candidate.name = options_.backend;
  candidate.status = ReadTarget(options_, &target_);
  candidate.tried = !candidate.status.ok();
  if (candidate.tried) candidates_.push_back(candidate);  // the same for all backends
  else
    for (const std::string& name : BackendsToTry(options_)) {
      candidate.name = name;
      candidates_.push_back(candidate);
    }
  precision_ = PrecisionOf(options_);
  c_delegate_.data_ = this;
  c_delegate_.Prepare = ApplyDelegate;
  // With this flag alone the interpreter asks the delegate before it prepares the graph: models
  // with custom ops that only Quadra knows load. The price: sizes in the file may be from before
  // a resize, so shapes are inferred from the partition's inputs when it is prepared.
  c_delegate_.flags = kTfLiteDelegateFlagsAllowDynamicTensors;
}

Status Delegate::Open(Candidate* candidate) {
  if (!candidate->tried) {
    candidate->tried = true;
    candidate->status = OpenGpu(options_, candidate->name, shared_, target_.get(), &candidate->gpu);
  }
  return candidate->status;
}

// A model begins with its main subgraph.
void Delegate::Begin(int subgraph) {
  if (subgraph == 0) {
    earlier_.clear();
    earlier_partitions_ = 0;
    backend_notes_.clear();
    callers_.clear();
    callees_.clear();
    called_.clear();
    run_.clear();
  } else {
    earlier_partitions_ += now_.partitions.size();
    earlier_.push_back(std::move(now_));
    // A subgraph comes again where another size of an input, or another delegate, had the
    // interpreter undo what was applied.
    earlier_.erase(std::remove_if(earlier_.begin(), earlier_.end(),
                                  [&](const Applied& one) { return one.subgraph == subgraph; }),
                   earlier_.end());
  }
  now_ = Applied();
  now_.subgraph = subgraph;
}

Status Delegate::TryBackend(TfLiteContext* context, const std::shared_ptr<ModelNodes>& model,
                            KnownTensors* known, Candidate* candidate) {
  now_.partitions.clear();
  Status status = Open(candidate);
  now_.gpu = candidate->gpu;
  now_.verdicts = NameNodes(*context, *model);
  if (!status.ok()) {
    for (Verdict& verdict : now_.verdicts) verdict.reason = status.message();
    return status;
  }
  const std::string key = VerdictsKey(*context, *model);
  if (!key.empty()) {
    Status kept;
    status = Recall(context, model, key, &kept);
    if (status.ok()) return kept;
    Log(2, "verdicts: %s", status.message().c_str());
    now_.partitions.clear();
  }
  known->allows_quantized = options_.quantized_models_allowed != 0;
  now_.verdicts =
      Judge(context, *model, now_.gpu.target, precision_, options_.float32_nodes, known);
  KeepOutsideOnCpu(options_, *model, &now_.verdicts);
  status = MakePartitions(context, *model, known);
  // Where they cannot be saved, neither can plans, and their partitions say why.
  if ((status.ok() || status.code() == Code::kMiscompiled) && !key.empty()) {
    SaveVerdicts(CacheOf(options_), key, now_.verdicts, now_.partitions, status);
  }
  return status;
}

std::string Delegate::VerdictsKey(const TfLiteContext& context, const ModelNodes& model) const {
  // What is written to dump_dir begins with the graph.
  if (!CacheOf(options_).is_on() || !options_.dump_dir.empty()) return "";
  const std::string hash = HashOfModel(context, model);
  if (hash.empty()) return "";
  const std::string options = ToText(options_) + (IsCalled(now_.subgraph) ? "\ncalled" : "");
  return ModelCache::KeyOfVerdicts(hash, options, NameOf(precision_), now_.gpu.target,
                                   now_.gpu.backend->info());
}

// Where it ends early, all that it set is made anew.
Status Delegate::Recall(TfLiteContext* context, const std::shared_ptr<ModelNodes>& model,
                        const std::string& key, Status* result) {
  KeptVerdicts kept;
  QUADRA_RETURN_IF_ERROR(kept.Load(CacheOf(options_), key, &now_.verdicts));
  TfLiteDelegateParams* previews;
  int count;
  QUADRA_RETURN_IF_ERROR(Preview(context, now_.verdicts, &previews, &count));
  for (int i = 0; i < count; ++i) {
    const SessionOptions options = OptionsFor(now_.partitions.size());
    now_.partitions.push_back(std::make_shared<Partition>());
    Partition* partition = now_.partitions.back().get();
    QUADRA_RETURN_IF_ERROR(kept.Next(*context, options, now_.gpu.backend, partition));
    if (!SameNodes(partition->nodes, previews[i].nodes_to_replace)) {
      return Unsupported("the interpreter makes other partitions");
    }
    partition->model = model;
    partition->allows_quantized = options_.quantized_models_allowed != 0;
  }
  *result = kept.Result();
  model->Keep(*context);
  NumberPartitions();
  return Status();
}

size_t Applied::nodes_on_gpu() const {
  return static_cast<size_t>(std::count_if(verdicts.begin(), verdicts.end(),
                                           [](const Verdict& verdict) { return verdict.on_gpu; }));
}

Status Delegate::Apply(TfLiteContext* context) {
  const int subgraph = SubgraphOf(context);
  if (!MayRun(subgraph)) return Status();
  Begin(subgraph);
  if (subgraph == 0 && HasSeveralSubgraphs(context)) ReadCalls(context);
  const auto model = std::make_shared<ModelNodes>();
  QUADRA_RETURN_IF_ERROR(ReadModel(context, model.get()));
  KnownTensors known;
  Applied best;
  std::vector<std::vector<Verdict>> tried;
  for (Candidate& candidate : candidates_) {
    const Status status = TryBackend(context, model, &known, &candidate);
    tried.push_back(now_.verdicts);
    if (!best.gpu.backend || now_.nodes_on_gpu() > best.nodes_on_gpu()) {
      std::swap(best, now_);
      best.subgraph = now_.subgraph = subgraph;
    }
    if (status.ok()) break;
    const std::string note = candidate.name + ": " + status.message();
    if (std::find(backend_notes_.begin(), backend_notes_.end(), note) != backend_notes_.end())
      continue;
    backend_notes_.push_back(note);
    Log(1, "passed over: %s", note.c_str());
  }
  now_ = std::move(best);
  now_.first_partition = earlier_partitions_;
  NoteRun(*model, now_.verdicts);
  SayWhy(tried);
  TellVerdicts();
  ShareBuffers(context);
  return Replace(context);
}

void Delegate::ShareBuffers(TfLiteContext* context) {
  if (now_.subgraph != 0) return;
  buffers_->bound.clear();  // they were another model's
  // Of another OpenCL library's context than the callers' buffers, none can be had.
  const bool is_whole = now_.partitions.size() == 1 && options_.opencl_library.empty() &&
                        now_.nodes_on_gpu() == now_.verdicts.size();
  for (const auto& partition : now_.partitions) {
    partition->buffers = buffers_;
    partition->is_whole_model = is_whole && partition->states == 0;
    partition->Offer(context);
  }
}

Status Delegate::CheckBuffer(int tensor, const QuadraBuffer& buffer) const {
  Status status = Unsupported("no model has a partition on the GPU");
  for (const auto& partition : Main().partitions) {
    status = partition->CheckBuffer(tensor, buffer);
    if (status.ok()) return status;
  }
  return Status(status.code(), TextOf("bind a buffer to tensor %d: ", tensor) + status.message());
}

Status Delegate::BindBuffer(int tensor, const QuadraBuffer* buffer) {
  if (!buffer) {
    buffers_->bound.erase(tensor);
    return Status();
  }
  QUADRA_RETURN_IF_ERROR(CheckBuffer(tensor, *buffer));
  buffers_->bound[tensor] = *buffer;
  return Status();
}

Contexts Delegate::contexts() const {
  const Gpu& gpu = Main().gpu;
  return gpu.backend ? gpu.backend->contexts() : Contexts();
}

void Delegate::TellVerdicts() const {
  if (!listener_.function) return;
  for (const Verdict& verdict : now_.verdicts) {
    const QuadraVerdict told = ForC(now_.subgraph, verdict);
    listener_.function(listener_.data, &told);
  }
}

void Delegate::ReadCalls(TfLiteContext* context) {
  ForEachSubgraph(context, [this](int i, TfLiteContext* one) {
    ModelNodes model;
    if (!ReadModel(one, &model).ok()) return;
    for (const ModelNodes::Entry& entry : model.entries) {
      for (int subgraph : SubgraphsOf(entry)) {
        if (subgraph > 0) called_.insert(subgraph);
        callers_.push_back(i);
        callees_.push_back(subgraph);
      }
    }
  });
}

// Callers mostly come before what they call. Those that do not have no verdicts yet.
bool Delegate::MayRun(int subgraph) const {
  std::vector<int> later;  // what these may run
  const auto may_run = [&](int one) {
    return !IsCalled(one) || run_.count(one) ||
           std::find(later.begin(), later.end(), one) != later.end();
  };
  for (size_t i = callers_.size(); i-- > 0;) {
    if (callers_[i] > subgraph && may_run(callers_[i])) later.push_back(callees_[i]);
  }
  return may_run(subgraph);
}

// What a node on the GPU stands for is a part of its partition.
void Delegate::NoteRun(const ModelNodes& model, const std::vector<Verdict>& verdicts) {
  for (size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i].on_gpu) continue;
    for (int subgraph : SubgraphsOf(model.entries[i])) run_.insert(subgraph);
  }
}

// A node that is left to the CPU has a reason for each backend that was tried.
void Delegate::SayWhy(const std::vector<std::vector<Verdict>>& tried) {
  for (size_t node = 0; node < now_.verdicts.size(); ++node) {
    Verdict& verdict = now_.verdicts[node];
    if (verdict.on_gpu) continue;
    std::string reasons;
    bool differ = false;
    for (size_t i = 0; i < tried.size(); ++i) {
      const Verdict& one = tried[i][node];
      differ = differ || one.reason != tried[0][node].reason;
      const std::string reason = one.on_gpu ? "it could run there" : one.reason;
      reasons += (i ? "; " : "") + candidates_[i].name + ": " + reason;
    }
    if (differ || !now_.gpu.backend) verdict.reason = reasons;
  }
}

SessionOptions Delegate::OptionsFor(size_t partition) const {
  SessionOptions options;
  options.target = now_.gpu.target;
  options.precision = precision_;
  options.float32_nodes = options_.float32_nodes;
  options.tuning = options_.tuning;
  options.self_check = options_.self_check != 0;
  options.profile = options_.profile != 0;
  options.cache = CacheOf(options_);
  if (!options_.dump_dir.empty()) {
    options.dump_dir =
        options_.dump_dir + Format("/partition_%zu", earlier_partitions_ + partition);
    options.dump_tensors = options_.dump_tensors != 0;
  }
  return options;
}

// Compiles what the interpreter would make of the accepted nodes. A partition that fails goes back
// to the CPU, which can change the others: until nothing fails.
Status Delegate::MakePartitions(TfLiteContext* context, const ModelNodes& model,
                                KnownTensors* known) {
  Status first_failure;
  bool again = true;
  while (again) {
    again = false;
    const Status status = TryPartitions(context, model, known, &again, &first_failure);
    if (status.ok()) continue;
    first_failure = status;
    for (Verdict& verdict : now_.verdicts) {
      if (verdict.on_gpu) verdict.reason = status.message();
      verdict.on_gpu = false;
    }
    now_.partitions.clear();
  }
  NumberPartitions();
  return first_failure;
}

void Delegate::NumberPartitions() {
  for (size_t p = 0; p < now_.partitions.size(); ++p) {
    for (Verdict& verdict : now_.verdicts) {
      const std::vector<int>& nodes = now_.partitions[p]->nodes;
      if (std::find(nodes.begin(), nodes.end(), verdict.node) != nodes.end()) {
        verdict.partition = static_cast<int>(earlier_partitions_ + p);
      }
    }
  }
}

Status Delegate::TryPartitions(TfLiteContext* context, const ModelNodes& model, KnownTensors* known,
                               bool* again, Status* first_failure) {
  TfLiteDelegateParams* previews;
  int count;
  QUADRA_RETURN_IF_ERROR(Preview(context, now_.verdicts, &previews, &count));
  if (KeepUnworthyOnCpu(options_, context, model, *known, IsCalled(now_.subgraph), previews, count,
                        &now_.verdicts)) {
    *again = true;
    return Status();
  }
  std::vector<std::shared_ptr<Partition>> before = std::move(now_.partitions);
  now_.partitions.clear();
  for (const TfLiteDelegateParams* preview = previews; preview != previews + count; ++preview) {
    const auto same = std::find_if(before.begin(), before.end(), [&](const auto& partition) {
      return SameNodes(partition->nodes, preview->nodes_to_replace);
    });
    if (same != before.end()) {
      now_.partitions.push_back(*same);
      continue;
    }
    auto partition = std::make_shared<Partition>();
    const Status status = MakePartition(context, model, *preview, known, now_.gpu.backend,
                                        OptionsFor(now_.partitions.size()), partition.get());
    if (status.ok()) {
      now_.partitions.push_back(std::move(partition));
    } else {
      KeepFailedOnCpu(model, *partition, status);
      // One that may not be there the next time is told before one that will.
      if (first_failure->ok() || first_failure->code() == Code::kMiscompiled) {
        *first_failure = status;
      }
      *again = true;
    }
  }
  return Status();
}

// The nodes of programs that compute wrong numbers; all of a partition where there are none of
// these.
void Delegate::KeepFailedOnCpu(const ModelNodes& model, const Partition& partition,
                               const Status& status) {
  const bool miscompiled = status.code() == Code::kMiscompiled;
  const size_t before = now_.nodes_on_gpu();
  const Miscompiled* one = miscompiled ? partition.session->miscompiled() : nullptr;
  for (; one; one = one->next.get()) KeepOnCpu(model, one->nodes, one->why, &now_.verdicts);
  if (now_.nodes_on_gpu() < before) return;
  const std::string reason = (miscompiled ? "" : "its partition cannot run: ") + status.message();
  Log(1, "a partition (nodes: %zu) goes back to the CPU: %s", partition.nodes.size(),
      status.message().c_str());
  KeepOnCpu(model, partition.nodes, reason, &now_.verdicts);
}

Status Delegate::Replace(TfLiteContext* context) {
  std::unique_ptr<TfLiteIntArray, decltype(&free)> nodes(NodesOnGpu(now_.verdicts), &free);
  if (!nodes) return Internal("out of memory");
  if (nodes->size == 0) return Status();
  if (context->ReplaceNodeSubsetsWithDelegateKernels(context, Registration(), nodes.get(),
                                                     &c_delegate_) != kTfLiteOk) {
    return Internal("the interpreter could not replace nodes: %d", nodes->size);
  }
  return Status();
}

std::shared_ptr<Partition> Delegate::FindPartition(const TfLiteIntArray* nodes) const {
  for (const auto& partition : now_.partitions) {
    if (SameNodes(partition->nodes, nodes)) return partition;
  }
  return nullptr;
}

}  // namespace quadra
