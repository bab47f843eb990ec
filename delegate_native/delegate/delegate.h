// The delegate: judges a model's nodes, makes partitions and hands them to the interpreter.
#ifndef QUADRA_DELEGATE_DELEGATE_H_
#define QUADRA_DELEGATE_DELEGATE_H_

#include <memory>
#include <string>
#include <vector>

#include "delegate_native/delegate/options.h"
#include "delegate_native/delegate/partition.h"
#include "delegate_native/delegate/verdicts.h"

namespace quadra {

// What the delegate made of one subgraph of a model.
struct Applied {
  int subgraph = 0;  // 0 is the main one
  std::vector<Verdict> verdicts;
  std::vector<std::shared_ptr<Partition>> partitions;
};

class Delegate {
 public:
  explicit Delegate(Options options);

  TfLiteDelegate* c_delegate() { return &c_delegate_; }
  static Delegate* From(TfLiteDelegate* c_delegate) {
    return static_cast<Delegate*>(c_delegate->data_);
  }

  // What the interpreter calls for each subgraph of a model.
  Status Apply(TfLiteContext* context);
  // The partition whose nodes these are; null if there is none.
  std::shared_ptr<Partition> FindPartition(const TfLiteIntArray* nodes) const;
  // Verdicts, plans, times of the last model, as JSON.
  std::string Report() const;

 private:
  Status OpenBackend();
  void Begin(int subgraph);
  SessionOptions OptionsFor(int partition) const;
  void MakePartitions(TfLiteContext* context, const ModelNodes& model, ConstantPool* constants);
  Status TryPartitions(TfLiteContext* context, const ModelNodes& model, ConstantPool* constants,
                       bool* again);
  void LeaveToCpu(const TfLiteIntArray* nodes, const std::string& reason);
  Status Replace(TfLiteContext* context);

  TfLiteDelegate c_delegate_{};
  const Options options_;
  Precision precision_ = Precision::kF32;
  bool backend_tried_ = false;
  Status backend_status_;
  std::vector<std::string> backend_notes_;
  std::shared_ptr<Backend> backend_;
  GpuInfo target_;
  Applied now_;
  std::vector<Applied> earlier_;  // subgraphs of the same model
  size_t earlier_partitions_ = 0;
};

}  // namespace quadra

#endif  // QUADRA_DELEGATE_DELEGATE_H_
