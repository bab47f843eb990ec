// The next request where a driver refuses a plan.
#ifndef QUADRA_SESSION_REVISE_H_
#define QUADRA_SESSION_REVISE_H_

#include <string>
#include <vector>

#include "delegate_native/device/gpu_info.h"
#include "delegate_native/plan/make_plan.h"
#include "delegate_native/runtime/backend.h"

namespace quadra {

struct Revision {
  const char* change = nullptr;  // the row of the table in revise.cc; null: the CPU gets the nodes
  PlanRequest request;
  std::vector<std::string> notes;  // sentences: what is otherwise now
};

// Nothing but its operands decides. Each revision asks for less than the one before it, so that the
// last one comes. `plan`: that was made for the request, and refused.
Revision Revise(const PlanRequest& request, const Refusal& refusal, const fb::Plan& plan,
                const GpuInfo& target);

}  // namespace quadra

#endif  // QUADRA_SESSION_REVISE_H_
