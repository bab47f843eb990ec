#include "delegate_native/ops/subgraph.h"

namespace quadra {

int FindOutput(const Importer& node, int output, const TfLiteContext& subgraph,
               const std::vector<int>& among, int* fitting) {
  const TfLiteTensor& wanted = node.OutputTensor(output);
  int found = -1, alike = 0;
  *fitting = 0;
  for (int tensor : among) {
    if (!SameTensor(wanted, subgraph.tensors[tensor])) continue;
    found = tensor;
    ++*fitting;
  }
  for (int i = 0; i < node.num_outputs(); ++i) alike += SameTensor(wanted, node.OutputTensor(i));
  return *fitting == 1 && alike == 1 ? found : -1;
}

}  // namespace quadra
