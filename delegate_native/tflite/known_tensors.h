// Facts about a model's tensors that its file does not say.
#ifndef QUADRA_TFLITE_KNOWN_TENSORS_H_
#define QUADRA_TFLITE_KNOWN_TENSORS_H_

#include <map>
#include <vector>

#include "delegate_native/graph/graph.h"
#include "delegate_native/tflite/abi.h"
#include "delegate_native/tflite/constant_pool.h"

namespace quadra {

// Shapes of tensors that are known better than from the file, because they were inferred.
struct KnownShape {
  Shape shape;
  int rank;
};
using KnownShapes = std::map<int, KnownShape>;

// Facts that judging a model gives about its tensors.
struct KnownTensors {
  ConstantPool constants;
  KnownShapes shapes;
  // Resource variables, by the tensors of their handles: the first handle of each.
  std::map<int, int> variables;
  bool allows_quantized = true;  // tensors of quantised integers
  // The subgraph that is being imported, behind those that it is a part of.
  std::vector<const TfLiteContext*> subgraphs;
};

}  // namespace quadra

#endif  // QUADRA_TFLITE_KNOWN_TENSORS_H_
