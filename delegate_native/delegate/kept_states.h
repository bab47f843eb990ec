// States that stay in the device's memory from inference to inference because the option `states`
// names them: inputs of the model whose next numbers are outputs. All signatures share them, and
// neither goes through the interpreter's memory.
#ifndef QUADRA_DELEGATE_KEPT_STATES_H_
#define QUADRA_DELEGATE_KEPT_STATES_H_

#include <memory>
#include <string>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/delegate/device_variables.h"
#include "delegate_native/session/session.h"
#include "delegate_native/tflite/model_nodes.h"

namespace quadra {

struct KeptState {
  std::string name;
  DeviceVariable memory;
  Session* busy = nullptr;  // whose inference may still work on it; null: none

  // Until none does but this one's, whose next inference comes after its last.
  Status WaitForOthers(const Session* own = nullptr);

  // A sentence names the state.
  Status CheckPort(const IoTensor& port) const;
  // All of them; null: zeros.
  Status Write(const void* numbers, size_t bytes);
  Status Read(void* numbers, size_t bytes);
};

// The ports of a partition that one is.
struct KeptPort {
  std::shared_ptr<KeptState> state;
  int input = -1, output = -1;
};

// Before an inference: where they are. An update in place is one memory, others take turns with
// two.
Status FindKept(const Session& session, const std::vector<KeptPort>& ports, PortObjects* objects);
// After it: the outputs are the states.
void TurnKept(const PortObjects& objects, const std::vector<KeptPort>& ports);

struct Partition;

class KeptStates {
 public:
  // Parts of tensors' names with a + between them: INPUT, or INPUT=OUTPUT. Not ok: the text is not
  // like that.
  static Status Check(const std::string& option);
  explicit KeptStates(const std::string& option);

  // For another model, of which this is a subgraph. Not ok: it has no such names.
  Status Begin(TfLiteContext* context);
  // Gives the partitions of a subgraph, which is run by itself, their ports. Not ok: a tensor that
  // is named cannot stay on the device.
  Status Share(TfLiteContext* context, const ModelNodes& model,
               const std::shared_ptr<Backend>& backend,
               const std::vector<std::shared_ptr<Partition>>& partitions);

  const std::vector<std::shared_ptr<KeptState>>& all() const { return states_; }
  Status Read(const std::string& name, void* numbers, size_t bytes) const;
  // Null: zeros; without a name: all, with zeros.
  Status Write(const char* name, const void* numbers, size_t bytes) const;

 private:
  struct Pair {
    std::string input, output;  // parts of names; no output: what is updated in place
  };
  struct Place {
    Partition* partition;
    KeptPort port;
  };

  Status FindInput(const TfLiteContext& context, int tensor, const ModelNodes& model,
                   const std::vector<std::shared_ptr<Partition>>& partitions, Place* place) const;
  Status FindOutput(const TfLiteContext& context, const Pair& pair, const std::string& rest,
                    Place* place) const;
  Status Keep(const std::string& name, const std::shared_ptr<Backend>& backend,
              const std::vector<std::string>& others, Place* place);
  std::shared_ptr<KeptState> Find(const std::string& name) const;

  std::vector<Pair> pairs_;
  std::vector<std::shared_ptr<KeptState>> states_;
};

}  // namespace quadra

#endif  // QUADRA_DELEGATE_KEPT_STATES_H_
