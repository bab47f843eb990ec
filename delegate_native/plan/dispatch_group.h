// The group of a dispatch, and whether it may be another one.
#ifndef QUADRA_PLAN_DISPATCH_GROUP_H_
#define QUADRA_PLAN_DISPATCH_GROUP_H_

#include "delegate_native/base/group.h"
#include "delegate_native/plan/plan_generated.h"

namespace quadra {

inline Group GroupOf(const fb::Dispatch& dispatch) {
  const auto& local = *dispatch.local();
  return {local.Get(0), local.Get(1), local.Get(2)};
}

inline bool HasFreeGroup(const fb::Dispatch& dispatch) {
  return dispatch.grid() && dispatch.grid()->size() == 3;
}

}  // namespace quadra

#endif  // QUADRA_PLAN_DISPATCH_GROUP_H_
