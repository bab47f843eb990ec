#include "delegate_native/delegate/calls.h"

#include <algorithm>

namespace quadra {

Calls::Calls(TfLiteContext* context) {
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
bool Calls::MayRun(int subgraph) const {
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

void Calls::Note(const ModelNodes& model, const std::vector<Verdict>& verdicts) {
  for (size_t i = 0; i < verdicts.size(); ++i) {
    // What a node on the GPU stands for is a part of its partition.
    if (verdicts[i].on_gpu) continue;
    for (int subgraph : SubgraphsOf(model.entries[i])) run_.insert(subgraph);
  }
}

}  // namespace quadra
