// Variable tensors and resource variables, which keep their numbers from one run to the next. A
// node reads what one holds when it runs, and says what it leaves there. Integers stand for floats.
#ifndef QUADRA_TFLITE_STATES_H_
#define QUADRA_TFLITE_STATES_H_

#include <map>
#include <utility>
#include <vector>

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

  // The numbers that a resource variable holds; `tensor` is what the node makes of it.
  Status ReadResource(int handle, int tensor, ValueId* value);
  // It holds this tensor's numbers from now on.
  Status AssignResource(int handle, int tensor, ValueId value);

  // The values that they get when the nodes have run, by variable tensors and tensors that are
  // assigned.
  const std::map<int, ValueId>& values() const { return values_; }
  // The numbers that resource variables hold before, by the tensors that are made of it.
  const std::vector<std::pair<int, ValueId>>& read() const { return read_; }
  void Forget() { values_.clear(); }

 private:
  Status FindVariable(int handle, int* variable) const;
  Status AddResource(int tensor, ValueId* value);

  GraphTensors* tensors_;
  std::map<int, ValueId> values_;
  // The numbers that resource variables hold while the nodes run, and tensors with these numbers.
  std::map<int, ValueId> held_;
  std::map<int, int> held_by_;
  std::vector<std::pair<int, ValueId>> read_;
};

}  // namespace quadra

#endif  // QUADRA_TFLITE_STATES_H_
