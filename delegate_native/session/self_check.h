// Finds programs that a driver miscompiles, before an inference trusts them.
#ifndef QUADRA_SESSION_SELF_CHECK_H_
#define QUADRA_SESSION_SELF_CHECK_H_

#include <memory>
#include <string>
#include <vector>

#include "delegate_native/graph/graph.h"
#include "delegate_native/plan/make_plan.h"
#include "delegate_native/runtime/backend.h"
#include "delegate_native/session/io_numbers.h"

namespace quadra {

// A program that computes wrong numbers.
struct Miscompiled {
  std::vector<int> nodes;  // of the model; none: it brings inputs in or outputs out
  std::string why;
  std::unique_ptr<Miscompiled> next;
};

// Runs a plan that computes each value of `graph` twice (ComputeTwice) once on made-up inputs, and
// compares each with what the op's plainest kernels give for the same operands. `graph` has
// borders, and is changed. Not ok: why nothing was checked.
Status SelfCheck(Graph* graph, const std::vector<IoTensor>& inputs, const GpuInfo& target,
                 const PlanRequest& request, Backend* backend, std::unique_ptr<Miscompiled>* found);

}  // namespace quadra

#endif  // QUADRA_SESSION_SELF_CHECK_H_
