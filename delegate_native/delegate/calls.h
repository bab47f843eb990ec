// Which subgraphs of a model are run by nodes of others (IF, WHILE, composites), and by whom.
#ifndef QUADRA_DELEGATE_CALLS_H_
#define QUADRA_DELEGATE_CALLS_H_

#include <vector>

#include "delegate_native/delegate/verdicts.h"

namespace quadra {

class Calls {
 public:
  Calls() = default;  // of a model with one subgraph
  explicit Calls(TfLiteContext* context);

  // Whether a node runs the subgraph. Users run all others, and the main one.
  bool IsCalled(int subgraph) const;
  // Whether users or nodes on the CPU may run it, by the verdicts so far.
  bool MayRun(int subgraph) const;
  // Where the nodes of a subgraph that call others run.
  void Note(const ModelNodes& model, const std::vector<Verdict>& verdicts);

 private:
  std::vector<int> callers_, callees_;  // of each call
  std::vector<int> run_;                // by nodes on the CPU
};

}  // namespace quadra

#endif  // QUADRA_DELEGATE_CALLS_H_
