// What LSTM and RNN share: layers whose results are operands of their own next step.
#ifndef QUADRA_OPS_RECURRENT_H_
#define QUADRA_OPS_RECURRENT_H_

#include <cstddef>
#include <vector>

#include "delegate_native/graph/constant.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {

// A matrix, or a part of one; a vector is a matrix of one column.
struct Matrix {
  SharedFloats floats;
  size_t first = 0;   // where row 0 begins
  size_t stride = 1;  // from one row to the next

  float at(int row, int column) const {
    return (*floats)[first + static_cast<size_t>(row) * stride + static_cast<size_t>(column)];
  }
};

// A layer's weights. Gates are cell, forget, input and output. An RNN has the first alone and no
// cell state; an LSTM may lack that of the input, which is then 1 - forget.
struct Recurrent {
  int depth = 0;    // of the input
  int units = 0;    // cells
  int outputs = 0;  // of a step, and in the state: the units, unless they are projected
  std::vector<Matrix> input, recurrent, bias;  // by gate
  std::vector<Matrix> peepholes;               // by gate from forget on; or none
  std::vector<Matrix> norms;                   // by gate; or none
  std::vector<Matrix> projection;              // of the outputs, and its bias; either may lack
  TfLiteFusedActivation activation = kTfLiteActNone;
  float cell_clip = 0.0f, projection_clip = 0.0f;  // 0: none
  bool time_major = true;
};

// Adds the layer for a step (rank 2) or a sequence (rank 3) of input 0, as the node's output 0.
// `states` are those of the outputs and, of an LSTM, of the cells; `after` what they become.
Status AddRecurrent(Importer* importer, const Recurrent& layer, const std::vector<ValueId>& states,
                    std::vector<ValueId>* after);

}  // namespace quadra

#endif  // QUADRA_OPS_RECURRENT_H_
