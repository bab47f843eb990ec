// The common part of RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR.
#ifndef QUADRA_OPS_RESIZE_H_
#define QUADRA_OPS_RESIZE_H_

#include "delegate_native/ops/op.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {

// Adds a node that makes a [height, width] of its input, known when shapes are; the parameters of
// the two ops are alike.
Status ImportResize(Importer* importer, const char* op, Elements elements);
Status InferResized(Graph* graph, const Node& node);

// Steps in the source for one in the result. Corners that are aligned lie on corners.
float ResizeScale(int in, int out, bool align_corners);

}  // namespace quadra

#endif  // QUADRA_OPS_RESIZE_H_
