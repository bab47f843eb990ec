// Nodes that a plan of half precision stores and computes in float32 (option float32_nodes).
#ifndef QUADRA_SESSION_HOLD_FLOAT32_H_
#define QUADRA_SESSION_HOLD_FLOAT32_H_

#include <string>

#include "delegate_native/graph/graph.h"

namespace quadra {

// Marks the nodes that stand for one of the model's nodes in `list` ("3,7-9"), and their operands
// and results. Each kernel has floats of one width: what nodes of both widths read is converted
// by a node between them. Shapes and elements must be known; passes must be done.
void HoldFloat32(const std::string& list, Graph* graph);

}  // namespace quadra

#endif  // QUADRA_SESSION_HOLD_FLOAT32_H_
