// Resource variables of a partition. The interpreter keeps them, by its own kernels: READ_VARIABLE
// runs before the partition's inference and ASSIGN_VARIABLE after it. So other subgraphs, CALL_ONCE
// and nodes on the CPU see the same numbers.
#ifndef QUADRA_DELEGATE_RESOURCES_H_
#define QUADRA_DELEGATE_RESOURCES_H_

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/session/io_numbers.h"
#include "delegate_native/tflite/abi.h"
#include "delegate_native/tflite/known_tensors.h"
#include "delegate_native/tflite/model_nodes.h"

namespace quadra {

// Fills in the variables' names, and the shapes that the file gives what is read of them: the
// interpreter forgets that it knows these once it has prepared the graph.
void FindVariables(const TfLiteContext& context, const ModelNodes& model, KnownTensors* known);
// What a handle stands for; null: it is no VAR_HANDLE with a name.
bool VariableOf(const ModelNodes::Entry& entry, std::string* name);

class Resources {
 public:
  // Those of these nodes. `inputs` and `outputs`: tensors of the partition's ports; the last
  // `states` outputs are what its nodes leave in variables.
  void Find(const ModelNodes& model, const std::vector<int>& nodes, const std::vector<int>& inputs,
            const std::vector<int>& outputs, int states);
  bool any() const { return !reads_.empty() || !assigns_.empty(); }
  // How many of the inputs are what variables hold.
  int reads() const { return static_cast<int>(reads_.size()); }
  // Whether the port is for a variable alone: it has memory of its own.
  bool IsRead(int input) const { return read_.count(input) > 0; }
  bool IsAssigned(int output) const { return assigned_.count(output) > 0; }

  // Brings what variables hold. `inputs`: of the partition.
  Status Read(TfLiteContext* context, const std::vector<IoTensor>& inputs);
  // The memory of an input that was read.
  const void* NumbersOf(int input) { return read_[input].data.get(); }
  // The memory of an output that is for a variable; null: there is none left.
  void* MemoryFor(int output, const IoTensor& port);
  // Variables hold what the last inference made. `outputs`: of the partition.
  Status Assign(TfLiteContext* context, const std::vector<IoTensor>& outputs);

 private:
  struct Free {
    void operator()(void* memory) const { free(memory); }
  };
  // The interpreter may make it anew.
  struct Memory {
    std::unique_ptr<void, Free> data;
    size_t bytes = 0;
  };
  // A copy that outlives the delegate's being applied; what it points to is the interpreter's.
  struct Kernel {
    TfLiteNode node;
    TfLiteRegistration registration;
    int port = -1;  // of the partition: an input that is read, or an output that is assigned
    bool reads() const { return node.outputs->size > 0; }
    int handle() const { return node.inputs->data[0]; }
    // The tensor that it makes, or assigns.
    int tensor() const { return reads() ? node.outputs->data[0] : node.inputs->data[1]; }
  };
  // A variable's number, as VAR_HANDLE gives it: that need not have run.
  struct Handle {
    TfLiteNode node;
    TfLiteRegistration registration;
    int32_t number = -1;
  };

  static Status FindNumber(TfLiteContext* context, int tensor, Handle* handle);
  static bool Fit(const IoTensor& port, Memory* memory);
  Status Run(TfLiteContext* context, const Kernel& kernel);
  Status RunOn(TfLiteContext* context, const IoTensor& port, const Kernel& kernel, Memory* memory);

  std::map<int, Handle> handles_;  // by tensor
  std::vector<Kernel> reads_, assigns_;
  std::map<int, Memory> read_, assigned_;  // by port
};

}  // namespace quadra

#endif  // QUADRA_DELEGATE_RESOURCES_H_
