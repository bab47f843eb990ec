// The group of a dispatch.
#ifndef QUADRA_PLAN_DISPATCH_GROUP_H_
#define QUADRA_PLAN_DISPATCH_GROUP_H_

#include "delegate_native/base/group.h"
#include "delegate_native/plan/plan_generated.h"

namespace quadra {

inline Group GroupOf(const fb::Dispatch& dispatch) {
  const auto& local = *dispatch.local();
  return {local.Get(0), local.Get(1), local.Get(2)};
}

}  // namespace quadra

#endif  // QUADRA_PLAN_DISPATCH_GROUP_H_
