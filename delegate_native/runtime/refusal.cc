#include "delegate_native/runtime/refusal.h"

#include <cstring>

namespace quadra {
namespace {

// The largest group that compiles; 0: not even one work-item does, or the group must be as it is.
int MostItems(const fb::Dispatch& dispatch, const Build& build) {
  const Group group = GroupOf(dispatch);
  int most = static_cast<int>(ItemsOf(group)) / 2;
  if (!dispatch.has_free_group() || most == 0) return 0;
  if (!build.Compiles(dispatch, Shrunk(group, 1))) return 0;
  while (most > 1 && !build.Compiles(dispatch, Shrunk(group, most))) most /= 2;
  return most;
}

}  // namespace

unsigned FirstOfKernel(const fb::Plan& plan, unsigned index) {
  const char* entry = plan.dispatches()->Get(index)->entry()->c_str();
  unsigned first = 0;
  while (strcmp(plan.dispatches()->Get(first)->entry()->c_str(), entry) != 0) ++first;
  return first;
}

void Refusal::AddLaunch(const fb::Plan& plan, unsigned index) {
  stage = Stage::kLaunch;
  for (unsigned i = index; i < plan.dispatches()->size(); ++i) {
    if (FirstOfKernel(plan, i) != index) continue;
    const fb::Dispatch& dispatch = *plan.dispatches()->Get(i);
    const auto items = static_cast<int>(ItemsOf(GroupOf(dispatch)));
    dispatches.push_back({i, items / 2});
  }
}

Refusal FindRefused(const fb::Plan& plan, const Build& build) {
  Refusal refusal;
  refusal.stage = Refusal::Stage::kBuild;
  bool is_group = true;  // as far as is known, that all of them are refused for
  std::vector<int> most(plan.dispatches()->size(), -1);
  for (unsigned i = 0; i < most.size(); ++i) {
    const fb::Dispatch& dispatch = *plan.dispatches()->Get(i);
    const unsigned first = FirstOfKernel(plan, i);
    if (build.Has(dispatch)) continue;
    if (first == i) {
      const auto& program = *plan.programs()->Get(static_cast<unsigned>(dispatch.program()));
      // It may be another kernel of its program that did not compile.
      if (program.kernels()->size() > 1 && build.Compiles(dispatch, GroupOf(dispatch))) continue;
      most[i] = is_group ? MostItems(dispatch, build) : 0;
      is_group &= most[i] > 0;
    }
    if (most[first] >= 0) refusal.dispatches.push_back({i, most[first]});
  }
  return refusal;
}

}  // namespace quadra
