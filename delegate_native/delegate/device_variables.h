// Resource variables that a delegate keeps in its device's memory, as long as nobody else reads or
// assigns them. The interpreter then holds a mark instead of their numbers: whoever reads a
// variable all the same gets an error, and no old numbers.
#ifndef QUADRA_DELEGATE_DEVICE_VARIABLES_H_
#define QUADRA_DELEGATE_DEVICE_VARIABLES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "delegate_native/delegate/verdicts.h"
#include "delegate_native/runtime/backend.h"
#include "delegate_native/session/io_numbers.h"
#include "delegate_native/tflite/model_nodes.h"

namespace quadra {

struct DeviceVariable {
  int id = -1;                       // its first handle in the subgraph
  std::shared_ptr<Backend> backend;  // the memory's
  IoTensor port;                     // its size
  // The last numbers, and where an inference writes the next ones.
  std::unique_ptr<DeviceMemory> now, next;
  bool is_off = false;     // it cannot be here: the interpreter keeps it
  bool is_loaded = false;  // `now` has numbers
  int64_t mark = 0;        // what the interpreter holds; 0: the same numbers

  Status Make(const IoTensor& made, std::unique_ptr<DeviceMemory>* memory);
  // From the host.
  Status Load(const IoTensor& from, const void* numbers);
  // To the host: as many bytes as the port has.
  Status Store(void* numbers) const;
};

using DeviceVariables = std::vector<std::shared_ptr<DeviceVariable>>;

// The users of a model's variables, as far as a delegate has seen.
class VariableUsers {
 public:
  // Looks at all subgraphs, as they are now, if this one has a variable.
  void See(TfLiteContext* context, const ModelNodes& subgraph, const TfLiteDelegate* delegate);
  // The variables that are used by nodes of this subgraph alone, which all are on the GPU; beside
  // them what CALL_ONCE runs, before all that.
  DeviceVariables OwnedBy(int subgraph, const ModelNodes& model,
                          const std::vector<Verdict>& verdicts) const;

 private:
  bool IsOwned(int subgraph, const std::string& name) const;

  std::vector<std::string> names_;
  std::vector<int> users_;           // of each name: a subgraph
  std::vector<int> once_, callers_;  // subgraphs that CALL_ONCE runs, and where
  bool has_others_ = false;          // nodes of other delegates
};

}  // namespace quadra

#endif  // QUADRA_DELEGATE_DEVICE_VARIABLES_H_
