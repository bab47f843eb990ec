// Which nodes that could run on the GPU are worth it: what the options and an estimate of time say.
#ifndef QUADRA_DELEGATE_WORTHWHILE_H_
#define QUADRA_DELEGATE_WORTHWHILE_H_

#include <vector>

#include "delegate_native/delegate/options.h"
#include "delegate_native/delegate/verdicts.h"

namespace quadra {

// Leaves nodes outside of first_delegate_node_index to last_delegate_node_index to the CPU.
void KeepOutsideOnCpu(const Options& options, const ModelNodes& model,
                      std::vector<Verdict>* verdicts);

// Leaves partitions of the interpreter's preview to the CPU: those of fewer nodes than
// min_nodes_per_partition, those that the CPU is estimated to compute before the GPU is reached,
// and all but the largest where they are too many. Returns whether there were any. Nodes that
// compute count; those that only fold constants may stand alone. Of partitions that are all too
// small by the estimate one stays, if it is a tenth of the model's work; and so does any with a
// custom op that the interpreter has no kernel for. is_called: a node runs the subgraph: of what is
// too small in it nothing stays.
bool KeepUnworthyOnCpu(const Options& options, TfLiteContext* context, const ModelNodes& model,
                       const KnownTensors& known, bool is_called,
                       const TfLiteDelegateParams* previews, int count,
                       std::vector<Verdict>* verdicts);

}  // namespace quadra

#endif  // QUADRA_DELEGATE_WORTHWHILE_H_
