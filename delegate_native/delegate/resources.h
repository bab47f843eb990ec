// Resource variables of a partition. The interpreter keeps them, by its own kernels: READ_VARIABLE
// runs before the partition's inference and ASSIGN_VARIABLE after it. So other subgraphs, CALL_ONCE
// and nodes on the CPU see the same numbers. Where nobody else uses them, they stay in the device's
// memory after the first time.
#ifndef QUADRA_DELEGATE_RESOURCES_H_
#define QUADRA_DELEGATE_RESOURCES_H_

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
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
// The name that a handle stands for; false: it is no VAR_HANDLE.
bool VariableOf(const ModelNodes::Entry& entry, std::string* name);
// The variable of a handle: the first handle of its name; -1: there is none.
int IdOf(const ModelNodes& model, int handle);

class Resources {
 public:
  // Those of these nodes. `inputs` and `outputs`: tensors of the partition's ports; the last
  // `states` outputs are what its nodes leave in variables.
  void Find(const ModelNodes& model, const std::vector<int>& nodes, const std::vector<int>& inputs,
            const std::vector<int>& outputs, int states);
  // How many of the inputs are what variables hold.
  int reads() const;
  bool any() const { return !kernels_.empty(); }
  // Whether the port is for a variable alone: it has memory of its own.
  bool IsRead(int input) const { return At(true, input) != nullptr; }
  bool IsAssigned(int output) const { return At(false, output) != nullptr; }

  // From now on these stay on the device, but for those of which a port cannot be there.
  void KeepOnDevice(const Session& session, const DeviceVariables& variables);

  // Brings what variables hold.
  Status Read(TfLiteContext* context, const Session& session);
  // Where an input that was read is.
  void FindInput(int input, const void** host, void** object) const;
  // Where an output that is for a variable goes.
  Status FindOutput(int output, const Session& session, void** host, void** object);
  // Variables hold what the last inference made.
  Status Assign(TfLiteContext* context, const Session& session);

  // Gives variables that a delegate kept on a device back to the interpreter, by the nodes of its
  // model. Those that are another interpreter's stay.
  static void Return(TfLiteContext* context, const ModelNodes& model, DeviceVariables* kept);

 private:
  struct Free {
    void operator()(void* memory) const { free(memory); }
  };
  // The interpreter may make it anew.
  struct Memory {
    std::unique_ptr<void, Free> data;
    size_t bytes = 0;
  };
  // Copies that outlive the delegate's being applied; what they point to is the interpreter's.
  struct Kernel {
    TfLiteNode node;
    TfLiteRegistration op;
    TfLiteNode handle_node;
    TfLiteRegistration handle_op;
    int32_t number = -1;  // of the variable, as VAR_HANDLE gives it: that need not have run
    int variable = -1;
    int port = -1;        // of the partition: an input that is read, or an output that is assigned
    bool is_last = true;  // no other one of the partition assigns the variable later
    Memory memory;        // of the port

    bool reads() const { return node.outputs->size > 0; }
    int handle() const { return node.inputs->data[0]; }
    // The tensor that it makes, or assigns.
    int tensor() const { return reads() ? node.outputs->data[0] : node.inputs->data[1]; }
    const IoTensor& PortOf(const Session& session) const {
      return (reads() ? session.inputs() : session.outputs())[static_cast<size_t>(port)];
    }
  };

  static Status FindNumber(TfLiteContext* context, Kernel* kernel);
  static bool Fit(const IoTensor& port, Memory* memory);
  static Status Run(TfLiteContext* context, Kernel* kernel);
  static Status RunOn(TfLiteContext* context, const IoTensor& port, TfLiteType type, Kernel* kernel,
                      Memory* memory);
  static Status Mark(TfLiteContext* context, Kernel* kernel, DeviceVariable* variable);
  const Kernel* At(bool reads, int port) const;
  DeviceVariable* OnDevice(const Kernel& kernel) const;
  bool IsInPlace(const Session& session, const Kernel& kernel) const;
  Status AssignOnDevice(TfLiteContext* context, const Session& session, Kernel* kernel,
                        DeviceVariable* variable);
  bool ReturnOne(TfLiteContext* context, DeviceVariable* variable);

  std::vector<Kernel> kernels_;  // in the model's order
  DeviceVariables device_;
};

}  // namespace quadra

#endif  // QUADRA_DELEGATE_RESOURCES_H_
