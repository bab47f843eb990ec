// Resource variables that a delegate keeps in its device's memory, as long as nobody else reads or
// assigns them. The interpreter then holds a mark instead of their numbers: whoever reads a
// variable all the same gets an error, and no old numbers.
#ifndef QUADRA_DELEGATE_DEVICE_VARIABLES_H_
#define QUADRA_DELEGATE_DEVICE_VARIABLES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "delegate_native/runtime/backend.h"
#include "delegate_native/session/io_numbers.h"
#include "delegate_native/tflite/model_nodes.h"

namespace quadra {

struct DeviceVariable {
  std::shared_ptr<Backend> backend;  // the memory's
  IoTensor port;                     // its size
  // The last numbers, and where an inference writes the next ones.
  std::unique_ptr<DeviceMemory> now, next;
  bool is_loaded = false;  // `now` has numbers
  int64_t mark = 0;        // what the interpreter holds; 0: the same numbers

  Status Make(const IoTensor& made, std::unique_ptr<DeviceMemory>* memory);
  // From the host.
  Status Load(const IoTensor& from, const void* numbers);
  // To the host: as many bytes as the port has.
  Status Store(void* numbers) const;
};

// By name.
using DeviceVariables = std::map<std::string, std::shared_ptr<DeviceVariable>>;

// Who uses the variables of a model, as far as a delegate has seen.
class VariableUsers {
 public:
  // Looks at all subgraphs, as they are now, if this one has a variable.
  void See(TfLiteContext* context, const ModelNodes& subgraph, const TfLiteDelegate* delegate);
  // The variables that are used by nodes of this subgraph alone, which all are on the GPU; beside
  // them what CALL_ONCE runs, before all that.
  std::set<std::string> OwnedBy(int subgraph, const ModelNodes& model,
                                const std::vector<bool>& on_gpu) const;

 private:
  std::map<std::string, std::set<int>> users_;  // subgraphs
  std::map<int, std::set<int>> once_;           // subgraphs that CALL_ONCE runs: by whom
  bool has_others_ = false;                     // nodes of other delegates
};

}  // namespace quadra

#endif  // QUADRA_DELEGATE_DEVICE_VARIABLES_H_
