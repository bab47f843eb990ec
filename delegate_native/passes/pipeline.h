// Graph -> Graph: free functions in one ordered list.
#ifndef QUADRA_PASSES_PIPELINE_H_
#define QUADRA_PASSES_PIPELINE_H_

#include <string>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/passes/passes.h"

namespace quadra {

struct Pass {
  const char* name;  // also its file
  // Returns how many places it changed.
  int (*run)(Graph* graph, const Fits& fits);
};

// The passes in the order in which they run.
const std::vector<Pass>& Pipeline();

// Runs all of them (each until it changes nothing), verifying the graph after each.
Status RunPasses(Graph* graph, const Fits& fits = nullptr);

}  // namespace quadra

#endif  // QUADRA_PASSES_PIPELINE_H_
