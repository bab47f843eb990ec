// The delegate: judges a model's nodes, makes partitions and hands them to the interpreter.
#ifndef QUADRA_DELEGATE_DELEGATE_H_
#define QUADRA_DELEGATE_DELEGATE_H_

#include <memory>
#include <string>
#include <vector>

#include "delegate_native/delegate/attempt.h"
#include "delegate_native/delegate/buffers.h"
#include "delegate_native/delegate/calls.h"
#include "delegate_native/delegate/kept_states.h"

namespace quadra {

// The attempt that was applied to one subgraph of a model.
struct Applied {
  int subgraph = 0;            // 0 is the main one
  size_t first_partition = 0;  // its number among those of all subgraphs
  Attempt best;                // by a GPU without a backend when none could be opened
  DeviceVariables variables;   // that may stay on the device
};

// The user's function that gets each verdict; see QuadraDelegateOptions.
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
  // The interpreter calls it for each subgraph of a model.
  Status Apply(TfLiteContext* context);
  // The partition whose nodes these are; null if there is none.
  std::shared_ptr<Partition> FindPartition(const TfLiteDelegateParams& params) const;
  // Whether a buffer could serve a tensor of the subgraph.
  static constexpr int kAnySubgraph = -1;
  Status CheckBuffer(int subgraph, int tensor, const QuadraBuffer& buffer) const;
  // Null: the interpreter's memory again.
  Status BindBuffer(int subgraph, int tensor, const QuadraBuffer* buffer);
  void SetBufferSource(const QuadraBufferSource& source) { buffers_->source = source; }
  void UseContexts(const Contexts& contexts) { shared_ = contexts; }
  // Those of the main subgraph's backend.
  Contexts contexts() const;
  const KeptStates& states() const { return states_; }
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

  Applied* Begin(int subgraph);
  void LoadHashes();
  void SaveHashes();
  void KeepVariablesOf(const Applied& applied);
  void LeaveVariablesOnDevice(const ModelNodes& model, Applied* applied);
  Status Open(Candidate* candidate);
  Attempt TryCandidate(const SubgraphView& subgraph, Candidate* candidate);
  void NotePassedOver(const std::string& backend, const Status& status);
  void SayWhy(const std::vector<Attempt>& tried, Attempt* best) const;
  void TellVerdicts(const Applied& applied) const;
  void ShareBuffers(TfLiteContext* context, const Applied& applied);
  Status Replace(TfLiteContext* context, const IntArray& nodes);
  Status TakeUnrun(TfLiteContext* context);
  const Applied& Main() const { return applied_.front(); }

  TfLiteDelegate c_delegate_{};
  const Options options_;
  const VerdictListener listener_;
  std::unique_ptr<GpuInfo> target_;  // of the options' file, if they name one
  Contexts shared_;                  // the app's
  std::vector<Candidate> candidates_;
  std::vector<std::string> backend_notes_;  // why a backend was passed over
  Calls calls_;
  ConstantHashes constants_;
  int64_t known_hashes_ = 0;                      // so many were added in this process before
  int64_t hashed_before_ = 0, hashed_bytes_ = 0;  // before the model came, and since
  VariableUsers variable_users_;
  // They are of partitions that an interpreter may have undone.
  DeviceVariables kept_variables_;
  // Subgraphs of the model, in the order in which they were applied; first the main one, also
  // before there is a model.
  std::vector<Applied> applied_;
  // While nodes are replaced that no interpreter is to run: these, and what shares them.
  std::shared_ptr<ModelNodes> unrun_;
  std::shared_ptr<const PartitionMaker> maker_;
  KeptStates states_;
  const std::shared_ptr<Buffers> buffers_ = std::make_shared<Buffers>();
};

}  // namespace quadra

#endif  // QUADRA_DELEGATE_DELEGATE_H_
