// Resource variables of a partition. The interpreter keeps them, by its own kernels: READ_VARIABLE
// runs before the partition's inference and ASSIGN_VARIABLE after it. So other subgraphs, CALL_ONCE
// and nodes on the CPU see the same numbers. Where nobody else uses them, they stay in the device's
// memory after the first time.
#ifndef QUADRA_DELEGATE_RESOURCES_H_
#define QUADRA_DELEGATE_RESOURCES_H_

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/delegate/device_variables.h"
#include "delegate_native/session/session.h"
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

  // Takes out the variables of which this partition has a port that cannot be in memory of the
  // device.
  void LeaveOut(const Session& session, std::set<std::string>* names) const;
  // From now on these stay on the device. Others of them come as they did.
  void KeepOnDevice(std::shared_ptr<DeviceVariables> variables) { device_ = std::move(variables); }

  // Brings what variables hold.
  Status Read(TfLiteContext* context, const Session& session);
  // Where an input that was read is.
  void FindInput(int input, const void** host, void** object);
  // Where an output that is for a variable goes.
  Status FindOutput(int output, const Session& session, void** host, void** object);
  // Variables hold what the last inference made.
  Status Assign(TfLiteContext* context, const Session& session);

  // Gives variables that a delegate kept on a device back to the interpreter, by the nodes of its
  // model. Those that are another interpreter's stay.
  static void Return(TfLiteContext* context, const ModelNodes& model,
                     std::vector<std::pair<std::string, std::shared_ptr<DeviceVariable>>>* kept);

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
    std::string variable;
    bool is_last = true;  // no other one of the partition assigns it later
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
  Status RunOn(TfLiteContext* context, const IoTensor& port, TfLiteType type, const Kernel& kernel,
               Memory* memory);
  Status RunOn(TfLiteContext* context, const IoTensor& port, const Kernel& kernel, Memory* memory) {
    return RunOn(context, port, context->tensors[kernel.tensor()].type, kernel, memory);
  }
  DeviceVariable* OnDevice(const Kernel& kernel) const;
  bool IsInPlace(const Session& session, const Kernel& kernel) const;
  Status Mark(TfLiteContext* context, const Kernel& kernel, DeviceVariable* variable);
  Status AssignOnDevice(TfLiteContext* context, const Session& session, const Kernel& kernel,
                        DeviceVariable* variable);
  bool ReturnOne(TfLiteContext* context, const std::string& name, DeviceVariable* variable);

  std::map<int, Handle> handles_;  // by tensor
  std::vector<Kernel> reads_, assigns_;
  std::map<int, Memory> read_, assigned_;  // by port
  std::shared_ptr<DeviceVariables> device_;
};

}  // namespace quadra

#endif  // QUADRA_DELEGATE_RESOURCES_H_
