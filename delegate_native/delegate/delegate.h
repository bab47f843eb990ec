// The delegate: judges a model's nodes, makes partitions and hands them to the interpreter.
#ifndef QUADRA_DELEGATE_DELEGATE_H_
#define QUADRA_DELEGATE_DELEGATE_H_

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "delegate_native/delegate/backends.h"
#include "delegate_native/delegate/buffers.h"
#include "delegate_native/delegate/options.h"
#include "delegate_native/delegate/partition.h"
#include "delegate_native/delegate/verdicts.h"

namespace quadra {

// What the delegate made of one subgraph of a model.
struct Applied {
  int subgraph = 0;            // 0 is the main one
  size_t first_partition = 0;  // its number among those of all subgraphs
  Gpu gpu;                     // without a backend when none could be opened
  std::vector<Verdict> verdicts;
  std::vector<std::shared_ptr<Partition>> partitions;

  size_t nodes_on_gpu() const;
};

// Who is told each verdict; see QuadraDelegateOptions.
struct VerdictListener {
  void (*function)(void* data, const QuadraVerdict* verdict) = nullptr;
  void* data = nullptr;
};

// As it stands in the report.
std::string ToJson(const QuadraVerdict& verdict);

class Delegate {
 public:
  Delegate(Options options, const VerdictListener& listener);

  TfLiteDelegate* c_delegate() { return &c_delegate_; }
  static Delegate* From(TfLiteDelegate* c_delegate) {
    return static_cast<Delegate*>(c_delegate->data_);
  }

  const VerdictListener& listener() const { return listener_; }
  // What the interpreter calls for each subgraph of a model.
  Status Apply(TfLiteContext* context);
  // The partition whose nodes these are; null if there is none.
  std::shared_ptr<Partition> FindPartition(const TfLiteIntArray* nodes) const;
  // Whether a buffer could serve a tensor.
  Status CheckBuffer(int tensor, const QuadraBuffer& buffer) const;
  // Null: the interpreter's memory again.
  Status BindBuffer(int tensor, const QuadraBuffer* buffer);
  void SetBufferSource(const QuadraBufferSource& source) { buffers_->source = source; }
  void UseContexts(const Contexts& contexts) { shared_ = contexts; }
  // Of the main subgraph.
  Contexts contexts() const;
  // Verdicts, plans, times of the last model, as JSON.
  std::string Report() const;

 private:
  // A backend that the options ask for; opened when a model first needs it.
  struct Candidate {
    std::string name;
    bool tried = false;
    Status status;
    Gpu gpu;
  };

  void Begin(int subgraph);
  Status Open(Candidate* candidate);
  // What `candidate` makes of the model; not ok when nodes that it had accepted went back.
  Status TryBackend(TfLiteContext* context, const std::shared_ptr<ModelNodes>& model,
                    KnownTensors* known, Candidate* candidate);
  // The key that verdicts are kept under; empty: they are not kept.
  std::string VerdictsKey(const TfLiteContext& context, const ModelNodes& model) const;
  // What an earlier start made of the model, and what its TryBackend returned. Not ok: why it must
  // be made anew.
  Status Recall(TfLiteContext* context, const std::shared_ptr<ModelNodes>& model,
                const std::string& key, Status* result);
  SessionOptions OptionsFor(size_t partition) const;
  Status MakePartitions(TfLiteContext* context, const ModelNodes& model, KnownTensors* known);
  Status TryPartitions(TfLiteContext* context, const ModelNodes& model, KnownTensors* known,
                       bool* again, Status* first_failure);
  void KeepFailedOnCpu(const ModelNodes& model, const Partition& partition, const Status& status);
  void NumberPartitions();
  void ReadCalls(TfLiteContext* context);
  bool IsCalled(int subgraph) const { return called_.count(subgraph) > 0; }
  // Whether users or nodes on the CPU may run it.
  bool MayRun(int subgraph) const;
  void NoteRun(const ModelNodes& model, const std::vector<Verdict>& verdicts);
  void SayWhy(const std::vector<std::vector<Verdict>>& tried);
  void TellVerdicts() const;
  Status Replace(TfLiteContext* context);
  void ShareBuffers(TfLiteContext* context);
  const Applied& Main() const { return earlier_.empty() ? now_ : earlier_.front(); }

  TfLiteDelegate c_delegate_{};
  const Options options_;
  const VerdictListener listener_;
  Precision precision_ = Precision::kF32;
  std::unique_ptr<GpuInfo> target_;  // of the options' file, if they name one
  Contexts shared_;                  // the app's
  std::vector<Candidate> candidates_;
  std::vector<std::string> backend_notes_;  // why a backend was passed over
  Applied now_;
  std::vector<Applied> earlier_;  // subgraphs of the same model
  size_t earlier_partitions_ = 0;
  const std::shared_ptr<Buffers> buffers_ = std::make_shared<Buffers>();
  // Subgraphs with nodes that run others; which they run; those once more: users run all others,
  // and the main one; and those that nodes on the CPU run, by the verdicts so far.
  std::vector<int> callers_, callees_;
  std::set<int> called_, run_;
};

}  // namespace quadra

#endif  // QUADRA_DELEGATE_DELEGATE_H_
