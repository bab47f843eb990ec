// The step of a recurrent layer that a turn of a loop is: read by structure from the
// subgraphs that a WHILE names, as TensorFlow's converter writes them for the layers of Keras 3.
//
// A context does not tell the order of a subgraph's inputs and outputs. Converters write inputs
// before all other tensors, and the next value of a state is the one that is computed of it.
#ifndef QUADRA_OPS_LOOP_STEP_H_
#define QUADRA_OPS_LOOP_STEP_H_

#include <vector>

#include "delegate_native/ops/subgraph.h"
#include "delegate_native/tflite/constant_pool.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {

// The condition or the body of a loop; its first tensors are those of the loop.
class LoopPart {
 public:
  LoopPart(const Importer& loop, int subgraph, const std::vector<const TfLiteContext*>& outer)
      : loop_(loop), subgraph_(loop.context(), subgraph, outer) {}

  // Every node has outputs, and reads what nodes before it make.
  Status Read();

  int nodes() const { return static_cast<int>(model_.entries.size()); }
  int builtin(int node) const { return entry(node).registration->builtin_code; }
  const TfLiteNode& node(int node) const { return *entry(node).node; }
  int OutputOf(int node) const { return entry(node).node->outputs->data[0]; }
  // For a sentence.
  std::string NameOf(int node) const;

  const TfLiteTensor& tensor(int i) const { return subgraph_.context()->tensors[i]; }
  bool IsInput(int i) const { return i >= 0 && i < loop_.num_inputs(); }
  int MakerOf(int i) const { return i < 0 ? -1 : makers_[static_cast<size_t>(i)]; }
  int Rank(int i) const { return tensor(i).dims ? tensor(i).dims->size : 0; }
  int Dim(int i, int axis) const { return tensor(i).dims->data[axis]; }
  int Last(int i) const { return Rank(i) > 0 ? Dim(i, Rank(i) - 1) : 1; }

  // Whether it is a constant of integers in the subgraph, and which.
  bool Ints(int i, std::vector<int>* ints) const;
  bool IsFilled(int i, int with) const;
  // Whether it is a constant, also one that the loop hands on, and its floats.
  bool IsConstant(int i) const;
  Status Floats(int i, SharedFloats* floats) const;

 private:
  const ModelNodes::Entry& entry(int node) const {
    return model_.entries[static_cast<size_t>(node)];
  }

  const Importer& loop_;
  Subgraph subgraph_;
  ModelNodes model_;
  std::vector<int> makers_;  // of tensors; -1: nobody
  mutable ConstantPool constants_;
};

// The next output of a layer, in prefix form: * product, + sum, - 1 less it, s LOGISTIC, t the
// activation, h the outputs before, c the cells, = the next ones, digits the sums of gates, in the
// order of the kernel's text. A GRU's candidate has its input's part in 0 and its outputs' in 3.
struct RecurrentCell {
  const char* name;
  const char* formula;
  const char* variant;  // as in ops/recurrent.cc
  int gates;
};
constexpr int kCandidate = 3;

class LoopStep {
 public:
  // A part of a gate's sum: rows of a constant from `begin` on, which are weights of the input (x)
  // or of the outputs (h), or are added as they are (b).
  struct Term {
    char of;
    int tensor, begin;
  };

  explicit LoopStep(const LoopPart& body) : body_(body) {
    found_.used.resize(static_cast<size_t>(body.nodes()));
  }

  Status Read();

  const RecurrentCell& cell() const { return *cell_; }
  bool has_candidate() const { return cell_->gates == kCandidate; }
  const std::vector<Term>& terms(int gate) const { return found_.terms[gate]; }
  TfLiteFusedActivation activation() const;

  // Inputs of the loop; -1: there is none. The results before one is replaced, of all steps or of
  // the last one alone; which steps there are; the result of the step before.
  int results() const { return results_; }
  bool keeps_last() const { return keeps_last_; }
  int sequence() const { return found_.sequence; }
  int outputs() const { return found_.outputs; }
  int cells() const { return found_.cells; }
  int mask() const { return found_.mask; }
  int shown() const { return found_.shown; }
  // Whether results of steps that the mask leaves out are 0.
  bool hides() const { return found_.hides; }
  bool IsCounter(int input) const;
  bool IsWeights(int input) const;

  int units() const { return body_.Last(found_.outputs); }
  int depth() const { return body_.Last(found_.sequence); }

 private:
  struct Found {
    int sequence = -1, place = -1, outputs = -1, cells = -1, mask = -1, shown = -1;  // inputs
    bool hides = false;
    int zero = -1;  // what it shows then
    int next_cells = -1, activation = -1;
    int gates[4] = {-1, -1, -1, -1};  // tensors
    std::vector<Term> terms[4];
    std::vector<bool> used;  // nodes of the body
  };

  Status CheckTypes() const;
  void ReadCounters();
  bool FindCell();
  bool AreWhole(const RecurrentCell& cell) const;
  bool Has(int gate, char of) const;
  bool ReadMask();
  bool FindResults();
  bool IsReplaced(int tensor);
  bool IsPlace(int tensor, int later, int rest);

  // The tensor whose numbers it has, row by row.
  int Through(int tensor);
  // The node that makes it, if it is of that op; else null. It is a part of the layer then.
  const TfLiteNode* Make(int tensor, int builtin);

  // The end of the formula that the tensor is; null: it is none.
  const char* Match(const char* formula, int tensor);
  const char* MatchOne(const char* formula, const TfLiteNode* node, int input);
  const char* MatchBoth(const char* formula, const TfLiteNode* node);
  const char* MatchActivation(const char* formula, int tensor);
  bool IsAll(int tensor, float number);
  bool BindState(int tensor, int* state) const;
  bool MatchGate(int gate, int tensor);
  bool AddTerms(int tensor, int begin, std::vector<Term>* terms);
  bool AddProduct(const TfLiteNode& node, int begin, std::vector<Term>* terms);
  // The constant that it is: one of float16 is behind a node.
  int Weights(int tensor);
  bool PartBegin(const TfLiteNode& split, int tensor, int* begin) const;
  bool ColumnsBegin(const TfLiteNode& slice, int tensor, int* begin) const;
  bool IsStep(int tensor, int* sequence);

  const LoopPart& body_;
  Found found_;
  std::vector<int> counters_;  // that nodes make the next number of; -1: another node
  const RecurrentCell* cell_ = nullptr;
  int next_output_ = -1, results_ = -1;
  bool keeps_last_ = false;
};

}  // namespace quadra

#endif  // QUADRA_OPS_LOOP_STEP_H_
