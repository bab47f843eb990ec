#include "delegate_native/delegate/delegate.h"

#include <algorithm>
#include <utility>

#include "delegate_native/base/log.h"
#include "delegate_native/tflite/quiet.h"

namespace quadra {
namespace {

// ---- callbacks of the interpreter; the one place that turns Status into TfLiteStatus ----

TfLiteStatus ToTfLiteStatus(TfLiteContext* context, const Status& status) {
  if (status.ok()) return kTfLiteOk;
  if (context->ReportError) {
    context->ReportError(context, "Quadra: %s: %s. ", CodeName(status.code()),
                         status.message().c_str());
  }
  return kTfLiteError;
}

// Owned by a kernel of the interpreter. It may outlive the delegate, so it shares the partition.
struct KernelData {
  std::shared_ptr<Partition> partition;
};

void* InitKernel(TfLiteContext*, const char* buffer, size_t) {
  const TfLiteDelegateParams* params = reinterpret_cast<const TfLiteDelegateParams*>(buffer);
  return new KernelData{Delegate::From(params->delegate)->FindPartition(*params)};
}

void FreeKernel(TfLiteContext*, void* data) { delete static_cast<KernelData*>(data); }

Partition* PartitionOf(const TfLiteNode* node) {
  return node->user_data ? static_cast<KernelData*>(node->user_data)->partition.get() : nullptr;
}

TfLiteStatus PrepareKernel(TfLiteContext* context, TfLiteNode* node) {
  Partition* partition = PartitionOf(node);
  if (!partition) {
    return ToTfLiteStatus(context,
                          Internal("the interpreter made other partitions than it announced"));
  }
  return ToTfLiteStatus(context, partition->Prepare(context));
}

TfLiteStatus InvokeKernel(TfLiteContext* context, TfLiteNode* node) {
  return ToTfLiteStatus(context, PartitionOf(node)->Invoke(context));
}

TfLiteRegistration Registration(const char* name) {
  TfLiteRegistration registration{};
  registration.init = InitKernel;
  registration.free = FreeKernel;
  registration.prepare = PrepareKernel;
  registration.invoke = InvokeKernel;
  registration.custom_name = name;
  registration.version = 1;
  return registration;
}

TfLiteStatus ApplyDelegate(TfLiteContext* context, TfLiteDelegate* delegate) {
  return ToTfLiteStatus(context, Delegate::From(delegate)->Apply(context));
}

// Which subgraph of the model this is; the context itself does not tell.
int SubgraphOf(TfLiteContext* context) {
  for (int i = 0;; ++i) {
    TfLiteContext* other = AcquireIfThere(context, i);
    if (!other) return 0;
    if (other == context) return i;
    context->ReleaseSubgraphContext(context, i);
  }
}

bool HasSeveralSubgraphs(TfLiteContext* context) {
  if (!AcquireIfThere(context, 1)) return false;
  context->ReleaseSubgraphContext(context, 1);
  return true;
}

}  // namespace

Delegate::Delegate(Options options, const VerdictListener& listener)
    : options_(std::move(options)), listener_(listener), states_(options_.states) {
  SetLogLevel(options_.debug);
  const Status status = ReadTarget(options_, &target_);
  std::vector<std::string> names = {options_.backend};  // without a target the same for all
  if (status.ok()) names = BackendsToTry(options_);
  candidates_ = std::vector<Candidate>(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    candidates_[i].name = names[i];
    candidates_[i].status = status;
    candidates_[i].tried = !status.ok();
  }
  Begin(0);
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
Applied* Delegate::Begin(int subgraph) {
  Applied begun;
  begun.subgraph = subgraph;
  begun.best.gpu = &candidates_.front().gpu;
  for (const Applied& one : applied_) {
    if (subgraph == 0 || one.subgraph == subgraph) KeepVariablesOf(one);
  }
  if (subgraph == 0) {
    applied_.clear();
    backend_notes_.clear();
    calls_ = Calls();
    constants_ = ConstantHashes();
    maker_.reset();
  } else {
    begun.first_partition =
        applied_.back().first_partition + applied_.back().best.partitions.size();
    // A subgraph comes again where another size of an input, or another delegate, had the
    // interpreter undo what was applied.
    applied_.erase(std::remove_if(applied_.begin(), applied_.end(),
                                  [&](const Applied& one) { return one.subgraph == subgraph; }),
                   applied_.end());
  }
  applied_.push_back(std::move(begun));
  return &applied_.back();
}

// For each model: another process may have saved some since.
void Delegate::LoadHashes() {
  const ModelCache cache = CacheOf(options_);
  if (cache.is_on()) cache.LoadHashes();
  known_hashes_ = KnownHashes::OfProcess()->additions();
  hashed_before_ = KnownHashes::OfProcess()->hashed_bytes();
}

void Delegate::SaveHashes() {
  const int64_t known = KnownHashes::OfProcess()->additions();
  // Later a thread may hash what it is to write.
  hashed_bytes_ = KnownHashes::OfProcess()->hashed_bytes() - hashed_before_;
  const ModelCache cache = CacheOf(options_);
  if (known == known_hashes_ || !cache.is_on()) return;
  known_hashes_ = known;
  cache.SaveHashes();
}

// An interpreter that undoes partitions and one that is gone look alike.
void Delegate::KeepVariablesOf(const Applied& applied) {
  constexpr size_t kMost = 64;
  for (const auto& variable : applied.variables) {
    if (!variable->mark) continue;
    if (kept_variables_.size() == kMost) kept_variables_.erase(kept_variables_.begin());
    kept_variables_.push_back(variable);
  }
}

void Delegate::LeaveVariablesOnDevice(const ModelNodes& model, Applied* applied) {
  const Attempt& best = applied->best;
  applied->variables = variable_users_.OwnedBy(applied->subgraph, model, best.verdicts);
  for (const auto& variable : applied->variables) variable->backend = best.gpu->backend;
  for (const auto& partition : best.partitions) {
    partition->resources.KeepOnDevice(*partition->session, applied->variables);
  }
}

Status Delegate::Apply(TfLiteContext* context) {
  const int index = SubgraphOf(context);
  if (!calls_.MayRun(index)) return TakeUnrun(context);
  Applied* applied = Begin(index);
  if (index == 0) LoadHashes();
  if (index == 0) QUADRA_RETURN_IF_ERROR(states_.Begin(context));
  if (index == 0 && HasSeveralSubgraphs(context)) calls_ = Calls(context);
  const SubgraphView subgraph{context, std::make_shared<ModelNodes>(), calls_.IsCalled(index),
                              applied->first_partition, &constants_};
  QUADRA_RETURN_IF_ERROR(ReadModel(context, subgraph.model.get()));
  variable_users_.See(context, *subgraph.model, &c_delegate_);
  Resources::Return(context, *subgraph.model, &kept_variables_);
  std::vector<Attempt> tried;
  size_t best = 0;
  for (Candidate& candidate : candidates_) {
    tried.push_back(TryCandidate(subgraph, &candidate));
    const Attempt& last = tried.back();
    if (!tried[best].gpu->backend || last.nodes_on_gpu() > tried[best].nodes_on_gpu()) {
      best = tried.size() - 1;
    }
    if (last.status.ok()) break;
    NotePassedOver(candidate.name, last.status);
  }
  SaveHashes();
  SayWhy(tried, &tried[best]);
  applied->best = std::move(tried[best]);
  calls_.Note(*subgraph.model, applied->best.verdicts);
  TellVerdicts(*applied);
  if (!calls_.IsCalled(index)) {
    const Attempt& chosen = applied->best;
    QUADRA_RETURN_IF_ERROR(
        states_.Share(context, *subgraph.model, chosen.gpu->backend, chosen.partitions));
  }
  ShareBuffers(context, *applied);
  LeaveVariablesOnDevice(*subgraph.model, applied);
  return Replace(context, NodesOnGpu(applied->best.verdicts));
}

// All nodes of a subgraph that is a part of its callers' partitions. No interpreter runs it, but
// LiteRT's CompiledModel counts what is left of it to the CPU, and XNNPACK would pack its weights.
// A resize may leave a caller to the CPU after all: the partition is made then.
Status Delegate::TakeUnrun(TfLiteContext* context) {
  const Gpu& gpu = *Main().best.gpu;
  if (!gpu.backend) return Status();
  auto model = std::make_shared<ModelNodes>();
  QUADRA_RETURN_IF_ERROR(ReadModel(context, model.get()));
  const IntArray nodes = MakeIntArray(model->plan);
  model->CopyContext(*context);
  if (!maker_) {
    maker_ = std::make_shared<PartitionMaker>(
        PartitionMaker{gpu.backend, SessionOptionsFor(options_, gpu)});
  }
  unrun_ = std::move(model);
  const Status status = Replace(context, nodes);
  unrun_.reset();
  return status;
}

// The backend's attempt at the subgraph; where it cannot be opened, all nodes stay on the CPU.
Attempt Delegate::TryCandidate(const SubgraphView& subgraph, Candidate* candidate) {
  const Status status = Open(candidate);
  if (status.ok()) return TryBackend(options_, subgraph, candidate->gpu);
  Attempt attempt{&candidate->gpu, NameNodes(*subgraph.context, *subgraph.model), {}, status};
  for (Verdict& verdict : attempt.verdicts) verdict.reason = status.message();
  return attempt;
}

void Delegate::NotePassedOver(const std::string& backend, const Status& status) {
  const std::string note = backend + ": " + status.message();
  if (std::find(backend_notes_.begin(), backend_notes_.end(), note) != backend_notes_.end()) return;
  backend_notes_.push_back(note);
  Log(1, "passed over: %s", note.c_str());
}

// A subgraph that a node runs has inputs and outputs of the interpreter's.
void Delegate::ShareBuffers(TfLiteContext* context, const Applied& applied) {
  if (applied.subgraph == 0) buffers_->bound.clear();  // they were another model's
  if (calls_.IsCalled(applied.subgraph)) return;
  const Attempt& best = applied.best;
  // Callers' buffers belong to contexts of one OpenCL library, not of another one.
  const bool is_whole = best.partitions.size() == 1 && options_.opencl_library.empty() &&
                        best.nodes_on_gpu() == best.verdicts.size();
  for (const auto& partition : best.partitions) {
    partition->buffers = buffers_;
    partition->subgraph = applied.subgraph;
    partition->is_whole_model = is_whole && partition->states == 0 && !partition->resources.any();
    partition->Offer(context);
  }
}

Status Delegate::CheckBuffer(int subgraph, int tensor, const QuadraBuffer& buffer) const {
  Status status = Unsupported("no model has a partition on the GPU");
  for (const Applied& one : applied_) {
    if (subgraph != kAnySubgraph && subgraph != one.subgraph) continue;
    for (const auto& partition : one.best.partitions) {
      if (!partition->buffers) continue;
      status = partition->CheckBuffer(tensor, buffer);
      if (status.ok()) return status;
    }
  }
  return Status(status.code(), TextOf("bind a buffer to tensor %d: ", tensor) + status.message());
}

Status Delegate::BindBuffer(int subgraph, int tensor, const QuadraBuffer* buffer) {
  if (!buffer) {
    buffers_->bound.erase({subgraph, tensor});
    return Status();
  }
  QUADRA_RETURN_IF_ERROR(CheckBuffer(subgraph, tensor, *buffer));
  buffers_->bound[{subgraph, tensor}] = *buffer;
  return Status();
}

Contexts Delegate::contexts() const {
  const Gpu& gpu = *Main().best.gpu;
  return gpu.backend ? gpu.backend->contexts() : Contexts();
}

void Delegate::TellVerdicts(const Applied& applied) const {
  if (!listener_.function) return;
  for (const Verdict& verdict : applied.best.verdicts) {
    const QuadraVerdict told = ForC(applied.subgraph, verdict);
    listener_.function(listener_.data, &told);
  }
}

// A node that is left to the CPU has a reason for each backend that was tried.
void Delegate::SayWhy(const std::vector<Attempt>& tried, Attempt* best) const {
  for (size_t node = 0; node < best->verdicts.size(); ++node) {
    Verdict& verdict = best->verdicts[node];
    if (verdict.on_gpu) continue;
    std::string reasons;
    bool differ = false;
    for (size_t i = 0; i < tried.size(); ++i) {
      const Verdict& one = tried[i].verdicts[node];
      differ = differ || one.reason != tried[0].verdicts[node].reason;
      const std::string reason = one.on_gpu ? "it could run there" : one.reason;
      reasons += (i ? "; " : "") + candidates_[i].name + ": " + reason;
    }
    if (differ || !best->gpu->backend) verdict.reason = reasons;
  }
}

Status Delegate::Replace(TfLiteContext* context, const IntArray& nodes) {
  const TfLiteRegistration kernel = Registration(unrun_ ? kUnrunKernel : "QuadraDelegate");
  if (!nodes) return Internal("out of memory");
  if (nodes->size == 0) return Status();
  if (context->ReplaceNodeSubsetsWithDelegateKernels(context, kernel, nodes.get(), &c_delegate_) !=
      kTfLiteOk) {
    return Internal("the interpreter could not replace nodes: %d", nodes->size);
  }
  return Status();
}

std::shared_ptr<Partition> Delegate::FindPartition(const TfLiteDelegateParams& params) const {
  if (unrun_) {
    auto partition = std::make_shared<Partition>();
    partition->Take(params);
    partition->model = unrun_;
    partition->allows_quantized = options_.quantized_models_allowed != 0;
    partition->maker = maker_;
    return partition;
  }
  for (const auto& partition : applied_.back().best.partitions) {
    if (partition->Has(*params.nodes_to_replace)) return partition;
  }
  return nullptr;
}

}  // namespace quadra
