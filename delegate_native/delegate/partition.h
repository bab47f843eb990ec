// A partition: the nodes that became one node of the interpreter, and the session that runs them.
#ifndef QUADRA_DELEGATE_PARTITION_H_
#define QUADRA_DELEGATE_PARTITION_H_

#include <memory>
#include <vector>

#include "delegate_native/delegate/buffers.h"
#include "delegate_native/delegate/kept_states.h"
#include "delegate_native/delegate/resources.h"
#include "delegate_native/delegate/verdicts.h"
#include "delegate_native/session/session.h"
#include "delegate_native/tflite/abi.h"

namespace quadra {

// The backend and options of a partition that is made after the delegate was applied.
struct PartitionMaker {
  std::shared_ptr<Backend> backend;
  SessionOptions options;
};

struct Partition {
 private:
  // Callers take turns with a few: cameras do. The last used is the first. The session's inferences
  // work on it: it goes after the session.
  std::unique_ptr<SystemMemory> imported_;

 public:
  Partition() = default;
  ~Partition();
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;

  std::vector<int> nodes;  // of the model
  // In the order of the graph's inputs; last, what is read of resource variables, and only shapes.
  std::vector<int> input_tensors;
  // In the order of the graph's outputs; last, states: variable tensors, and those that are
  // assigned to resource variables.
  std::vector<int> output_tensors;
  std::unique_ptr<Session> session;
  int states = 0;  // how many of the outputs they are
  Resources resources;
  // How many of the inputs are tensors that its nodes do not read: sizes that they read follow from
  // their shapes, through nodes outside.
  int only_shapes = 0;

  // In a partition from saved verdicts, or with a maker: the model that it is imported from, if
  // ever.
  std::shared_ptr<ModelNodes> model;
  // For nodes that no interpreter is to run. The session is made if one runs them all the same.
  std::shared_ptr<const PartitionMaker> maker;
  bool waits = false;  // of these: it is prepared when one does
  Status unready;      // or why it could not be
  bool allows_quantized = true;

  // Inputs and outputs that stay on the device.
  std::vector<KeptPort> kept;

  // Where inputs and outputs may be; for partitions of subgraphs that no node runs.
  std::shared_ptr<Buffers> buffers;
  int subgraph = 0;
  bool is_whole_model = false;
  bool is_empty = false;  // an input has no numbers now: so have all outputs

  // Its nodes and what they read and make become these.
  void Take(const TfLiteDelegateParams& params);
  // When its nodes, inputs and outputs are known.
  void FindResources(const ModelNodes& from);
  // Whether these are its nodes.
  bool Has(const TfLiteIntArray& list) const;
  // Tells the buffers' source which tensors may be in buffers of the GPU API.
  void Offer(TfLiteContext* context) const;
  // Whether a buffer could serve this tensor; else why not.
  Status CheckBuffer(int tensor, const QuadraBuffer& buffer);
  // Prepares for the current sizes of the inputs; sets the sizes of the outputs.
  Status Prepare(TfLiteContext* context);
  Status Invoke(TfLiteContext* context);
  // How many of the inputs are more than a shape.
  size_t inputs_read() const { return input_tensors.size() - static_cast<size_t>(only_shapes); }

 private:
  bool HasUnknownSizes(const TfLiteContext* context) const;
  bool HasSizesOfModel(const TfLiteContext* context) const;
  Status PrepareNow(TfLiteContext* context);
  Status FindBuffer(TfLiteContext* context, int index, const IoTensor& port, bool is_output,
                    QuadraBuffer* found);
  Status ImportBuffer(QuadraBuffer* buffer);
  Status InvokeSession(TfLiteContext* context, Events* events);
  Status ImportKept(const SessionOptions& options, Graph* graph);
  Status MakeSession();
  Status PrepareSession(TfLiteContext* context);
  Status ImportIfNeeded(const std::vector<Shape>* shapes);
};

// Imports the nodes of a previewed partition and compiles it.
Status MakePartition(TfLiteContext* context, const ModelNodes& model,
                     const TfLiteDelegateParams& params, KnownTensors* known,
                     std::shared_ptr<Backend> backend, const SessionOptions& options,
                     Partition* partition);

}  // namespace quadra

#endif  // QUADRA_DELEGATE_PARTITION_H_
