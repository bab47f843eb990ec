// Variable tensors, which keep their numbers from one run to the next. A node reads what one holds
// when it runs, and says what it leaves there. Integers stand for floats.
#ifndef QUADRA_TFLITE_STATES_H_
#define QUADRA_TFLITE_STATES_H_

#include <map>

#include "delegate_native/base/status.h"
#include "delegate_native/tflite/graph_tensors.h"

namespace quadra {

class States {
 public:
  explicit States(GraphTensors* tensors) : tensors_(tensors) {}

  // `quantized`: the node takes one of integers.
  Status Read(int tensor, bool quantized, ValueId* value);
  void Set(int tensor, ValueId value);
  // The floats that it can hold which are nearest to these.
  ValueId OntoGrid(int tensor, ValueId floats);

  // The values that they get when the nodes have run.
  const std::map<int, ValueId>& values() const { return values_; }
  void Forget() { values_.clear(); }

 private:
  GraphTensors* tensors_;
  std::map<int, ValueId> values_;
};

}  // namespace quadra

#endif  // QUADRA_TFLITE_STATES_H_
