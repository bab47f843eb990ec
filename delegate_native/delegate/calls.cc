#include "delegate_native/delegate/calls.h"

#include <algorithm>

namespace quadra {
namespace {

bool Contains(const std::vector<int>& list, int number) {
  return std::find(list.begin(), list.end(), number) != list.end();
}

}  // namespace

Calls::Calls(TfLiteContext* context) {
  ForEachSubgraph(context, [this](int i, TfLiteContext* one) {
    ModelNodes model;
    if (!ReadCalled(one, &model).ok()) return;
    for (const ModelNodes::Entry& entry : model.entries) {
      for (int subgraph : SubgraphsOf(entry)) {
        callers_.push_back(i);
        callees_.push_back(subgraph);
      }
    }
  });
}

bool Calls::IsCalled(int subgraph) const { return subgraph > 0 && Contains(callees_, subgraph); }

// Callers mostly come before what they call. Those that do not have no verdicts yet.
bool Calls::MayRun(int subgraph) const {
  std::vector<int> later;  // what these may run
  const auto may_run = [&](int one) {
    return !IsCalled(one) || Contains(run_, one) || Contains(later, one);
  };
  for (size_t i = callers_.size(); i-- > 0;) {
    if (callers_[i] > subgraph && may_run(callers_[i])) later.push_back(callees_[i]);
  }
  return may_run(subgraph);
}

void Calls::Note(const ModelNodes& model, const std::vector<Verdict>& verdicts) {
  for (size_t i = 0; i < verdicts.size(); ++i) {
    // On the GPU a subgraph is a part of the partition of the node that runs it.
    if (verdicts[i].on_gpu) continue;
    for (int subgraph : SubgraphsOf(model.entries[i])) run_.push_back(subgraph);
  }
}

}  // namespace quadra
