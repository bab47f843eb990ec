// The outputs for inputs of which one is empty: nothing is computed then.
#ifndef QUADRA_SESSION_OUTPUTS_OF_NOTHING_H_
#define QUADRA_SESSION_OUTPUTS_OF_NOTHING_H_

#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/session/io_numbers.h"

namespace quadra {

// Sets the shapes and ranks of `outputs`, which are the graph's. Not ok where an output would have
// numbers all the same, as a mean of none.
Status OutputsOfNothing(const Graph& graph, const std::vector<Shape>& input_shapes,
                        std::vector<IoTensor>* outputs);

}  // namespace quadra

#endif  // QUADRA_SESSION_OUTPUTS_OF_NOTHING_H_
