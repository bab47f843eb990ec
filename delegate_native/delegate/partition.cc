#include "delegate_native/delegate/partition.h"

#include <algorithm>
#include <utility>

#include "delegate_native/base/lean/clock.h"
#include "delegate_native/ops/op.h"
#include "delegate_native/tflite/importer.h"
#include "delegate_native/tflite/int_array.h"

namespace quadra {
namespace {

// Gives a tensor the size; leaves it alone when it has it already. A dynamic tensor gets its memory
// by it as well.
Status Resize(TfLiteContext* context, TfLiteTensor* tensor, const Shape& shape, int rank,
              Element element) {
  const bool has_memory = tensor->allocation_type != kTfLiteDynamic || tensor->data;
  bool same = has_memory && tensor->dims && tensor->dims->size == rank &&
              tensor->bytes == static_cast<size_t>(shape.elements()) * BytesOf(element);
  std::vector<int> sizes;
  sizes.reserve(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) sizes.push_back(shape.axis(4 - rank + i));
  if (element == Element::kComplex64) sizes.back() /= 2;
  if (same && std::equal(sizes.begin(), sizes.end(), tensor->dims->data)) return Status();
  IntArray dims = MakeIntArray(sizes);
  if (!dims) return Internal("out of memory");
  if (context->ResizeTensor(context, tensor, dims.release()) != kTfLiteOk) {
    return Internal("the interpreter refused to resize output '%s' to %s",
                    tensor->name ? tensor->name : "", ToString(shape).c_str());
  }
  return Status();
}

Status ImportNodes(Importer* importer, const ModelNodes& model, const std::vector<int>& nodes) {
  size_t at = 0;
  for (int node : nodes) {
    while (at < model.plan.size() && model.plan[at] != node) ++at;
    if (at == model.plan.size()) return Internal("node %d is not in the model", node);
    const ModelNodes::Entry& entry = model.entries[at];
    QUADRA_RETURN_IF_ERROR(ImportNode(node, entry.node, entry.registration, importer));
  }
  return Status();
}

bool Contains(const std::vector<int>& list, int number) {
  return std::find(list.begin(), list.end(), number) != list.end();
}

// Tensors that sizes depend on: a partition's nodes read them and nodes outside of it make them.
struct Outside {
  std::vector<int> nodes;    // in execution order
  std::vector<int> sources;  // tensors that these begin with, beside the partition's inputs
};

// Back to tensors whose shape nobody inferred, so that the interpreter has it before the partition
// is prepared: inputs of the model, and what the CPU makes.
Outside FindOutside(const TfLiteContext& context, const ModelNodes& model,
                    const KnownTensors& known, const Partition& partition) {
  Outside outside;
  std::vector<bool> wanted(context.tensors_size, false);
  const auto is_wanted = [&](int tensor) { return wanted[static_cast<size_t>(tensor)]; };
  size_t left = partition.nodes.size();
  for (size_t i = model.plan.size(); i-- > 0;) {
    const ModelNodes::Entry& entry = model.entries[i];
    if (!entry.status.ok()) continue;
    const bool is_inside = left > 0 && partition.nodes[left - 1] == model.plan[i];
    left -= is_inside;
    const TfLiteIntArray& made = *entry.node->outputs;
    if (!is_inside && std::none_of(made.data, made.data + made.size, is_wanted)) continue;
    if (!is_inside && entry.registration->builtin_code == kTfLiteBuiltinReadVariable) {
      outside.sources.push_back(made.data[0]);
      continue;
    }
    if (!is_inside) outside.nodes.push_back(model.plan[i]);
    for (int k = 0; k < entry.node->inputs->size; ++k) {
      const int tensor = entry.node->inputs->data[k];
      if (tensor < 0) continue;
      const bool is_constant =
          context.tensors[tensor].allocation_type == kTfLiteMmapRo || known.constants.Has(tensor);
      const bool is_end = is_inside || is_constant || Contains(partition.input_tensors, tensor);
      if (known.constants.IsSize(tensor) || (!is_end && known.shapes.count(tensor))) {
        wanted[static_cast<size_t>(tensor)] = true;
      } else if (!is_end && !Contains(outside.sources, tensor)) {
        outside.sources.push_back(tensor);
      }
    }
  }
  std::reverse(outside.nodes.begin(), outside.nodes.end());
  return outside;
}

// The graph of a partition's nodes. Its tensors are those that the interpreter names, and become
// those that the graph has.
Status Import(TfLiteContext* context, const ModelNodes& model, KnownTensors* known,
              Partition* partition, Graph* graph) {
  Importer importer(context, known, graph);
  const Outside outside = FindOutside(*context, model, *known, *partition);
  QUADRA_RETURN_IF_ERROR(ImportNodes(&importer, model, outside.nodes));
  importer.states()->Forget();
  QUADRA_RETURN_IF_ERROR(ImportNodes(&importer, model, partition->nodes));
  std::vector<int> inputs, outputs;
  const auto add_inputs = [&](const std::vector<int>& tensors) {
    const size_t before = inputs.size();
    for (int tensor : tensors) {
      const ValueId value = tensor < 0 ? -1 : importer.tensors()->ValueOf(tensor);
      if (value < 0 || graph->IsConstant(value) || known->constants.Has(tensor)) continue;
      graph->inputs.push_back(value);
      inputs.push_back(tensor);
    }
    return static_cast<int>(inputs.size() - before);
  };
  add_inputs(partition->input_tensors);
  for (const auto& [tensor, value] : importer.states()->read()) {
    graph->inputs.push_back(value);
    inputs.push_back(tensor);
  }
  partition->only_shapes = graph->only_shapes = add_inputs(outside.sources);
  for (int tensor : partition->output_tensors) {
    const ValueId value = importer.tensors()->StoredValueOf(tensor);
    if (value < 0 && known->variables.count(tensor)) continue;
    if (value < 0) {
      return Unsupported("'%s', which an op leaves out, is read", context->tensors[tensor].name);
    }
    // Constants are read by this delegate only, straight from the model.
    if (graph->IsConstant(value) || known->constants.Has(tensor)) continue;
    graph->outputs.push_back(value);
    outputs.push_back(tensor);
  }
  for (const auto& [tensor, value] : importer.states()->values()) {
    graph->outputs.push_back(value);
    outputs.push_back(tensor);
  }
  partition->states = static_cast<int>(importer.states()->values().size());
  partition->input_tensors.swap(inputs);
  partition->output_tensors.swap(outputs);
  if (graph->outputs.empty()) return Unsupported("it has nothing to compute");
  partition->FindResources(model);
  return Status();
}

// Which buffers a backend takes beside memory of the host.
QuadraBufferKind KindFor(const Backend& backend) {
  switch (backend.takes()) {
    case Backend::Takes::kClMem: return QUADRA_BUFFER_OPENCL;
    case Backend::Takes::kGlBuffer: return QUADRA_BUFFER_GL;
    default: return QUADRA_BUFFER_HOST;
  }
}

bool IsSystems(QuadraBufferKind kind) {
  return kind == QUADRA_BUFFER_DMA_BUF || kind == QUADRA_BUFFER_AHARDWAREBUFFER;
}

// Why a buffer cannot serve this backend.
Status CheckKind(const Backend& backend, QuadraBufferKind kind) {
  if (kind == QUADRA_BUFFER_HOST || kind == KindFor(backend) || IsSystems(kind)) return Status();
  if (kind == QUADRA_BUFFER_OPENCL) {
    return Unsupported("the model runs on %s, not on OpenCL", backend.name());
  }
  return Unsupported("the model runs on %s, in a context that shares no buffers of OpenGL ES",
                     backend.name());
}

void Assign(const TfLiteIntArray& from, std::vector<int>* to) {
  to->assign(from.data, from.data + from.size);
}

size_t BytesOf(const IoTensor& port) {
  return static_cast<size_t>(port.shape.elements()) * BytesOf(port.element);
}

}  // namespace

Status MakePartition(TfLiteContext* context, const ModelNodes& model,
                     const TfLiteDelegateParams& params, KnownTensors* known,
                     std::shared_ptr<Backend> backend, const SessionOptions& options,
                     Partition* partition) {
  const int64_t start = NowUs();
  partition->Take(params);
  Graph graph;
  QUADRA_RETURN_IF_ERROR(Import(context, model, known, partition, &graph));
  std::vector<Shape> shapes(graph.inputs.size());
  for (size_t i = 0; i < shapes.size(); ++i) shapes[i] = graph.shape(graph.inputs[i]);
  const int64_t imported = NowUs();
  partition->session = std::make_unique<Session>(std::move(graph), std::move(backend), options);
  partition->session->times().Add({"import", start, imported});
  return partition->session->Prepare(shapes);
}

void Partition::FindResources(const ModelNodes& from) {
  resources.Find(from, nodes, input_tensors, output_tensors, states);
}

void Partition::Take(const TfLiteDelegateParams& params) {
  Assign(*params.nodes_to_replace, &nodes);
  Assign(*params.input_tensors, &input_tensors);
  Assign(*params.output_tensors, &output_tensors);
}

Status Partition::ImportKept(const SessionOptions& options, Graph* graph) {
  Judged judged = Judge(model->kept(), *model, options.target, options.precision,
                        options.float32_nodes, allows_quantized);
  return Import(model->kept(), *model, &judged.known, this, graph);
}

Status Partition::MakeSession() {
  Graph graph;
  QUADRA_RETURN_IF_ERROR(ImportKept(maker->options, &graph));
  session = std::make_unique<Session>(std::move(graph), maker->backend, maker->options);
  return Status();
}

// By the model as it was when the partition was made: so it is the same graph.
Status Partition::ImportIfNeeded(const std::vector<Shape>* shapes) {
  if (!session->NeedsGraph(shapes)) return Status();
  Graph graph;
  output_tensors.resize(output_tensors.size() - static_cast<size_t>(states));
  input_tensors.resize(inputs_read() - static_cast<size_t>(resources.reads()));
  states = only_shapes = 0;  // they come again
  QUADRA_RETURN_IF_ERROR(ImportKept(session->options(), &graph));
  return session->SetGraph(std::move(graph));
}

bool Partition::Has(const TfLiteIntArray& list) const {
  return static_cast<int>(nodes.size()) == list.size &&
         std::equal(nodes.begin(), nodes.end(), list.data);
}

bool Partition::HasUnknownSizes(const TfLiteContext* context) const {
  for (size_t i = 0; i < input_tensors.size(); ++i) {
    const TfLiteTensor& tensor = context->tensors[input_tensors[i]];
    if (tensor.allocation_type == kTfLiteDynamic && !resources.IsRead(static_cast<int>(i))) {
      return true;
    }
  }
  return false;
}

Status Partition::PrepareSession(TfLiteContext* context) {
  std::vector<Shape> shapes;
  int empty = -1;
  Shape empty_shape;
  for (int tensor : input_tensors) {
    const TfLiteIntArray* dims = context->tensors[tensor].dims;
    const int rank = session->inputs()[shapes.size()].rank;
    if (dims->size != rank) {
      // Axes were counted from the model's ranks.
      return Unsupported(
          "input '%s' now has rank %d, and %d in the model; sizes may change, ranks may not",
          context->tensors[tensor].name, dims->size, rank);
    }
    const bool has_parts = session->inputs()[shapes.size()].element == Element::kComplex64;
    shapes.push_back(ShapeOf(dims->data, rank));
    if (has_parts) shapes.back() = InParts(shapes.back());
    if (shapes.back().elements() < 1) empty = tensor, empty_shape = shapes.back();
  }
  QUADRA_RETURN_IF_ERROR(ImportIfNeeded(&shapes));
  std::vector<IoTensor> of_nothing;
  is_empty = empty >= 0;
  if (is_empty) {
    const Status status =
        states > 0 ? Unsupported("it has a state") : session->OutputsOfNothing(shapes, &of_nothing);
    if (!status.ok()) {
      return Unsupported("input '%s' now has no numbers (%s): %s", context->tensors[empty].name,
                         ToString(empty_shape).c_str(), status.message().c_str());
    }
  } else {
    QUADRA_RETURN_IF_ERROR(session->Prepare(shapes));
  }
  for (size_t i = 0; i < output_tensors.size(); ++i) {
    const IoTensor& output = is_empty ? of_nothing[i] : session->outputs()[i];
    TfLiteTensor* tensor = &context->tensors[output_tensors[i]];
    if (tensor->is_variable) continue;  // the nodes leave as many numbers as they found
    if (resources.IsAssigned(static_cast<int>(i))) continue;
    QUADRA_RETURN_IF_ERROR(Resize(context, tensor, output.shape, output.rank, output.element));
  }
  if (!is_empty) Offer(context);
  return Status();
}

void Partition::Offer(TfLiteContext* context) const {
  if (!is_whole_model || !buffers->source.offer) return;
  const QuadraBufferKind kind = KindFor(session->backend());
  const auto is_kept = [&](const std::vector<int>& tensors, int tensor) {
    const bool of_inputs = &tensors == &input_tensors;
    return std::any_of(kept.begin(), kept.end(), [&](const KeptPort& port) {
      return tensors[static_cast<size_t>(of_inputs ? port.input : port.output)] == tensor;
    });
  };
  const auto offer = [&](const std::vector<int>& tensors, size_t count,
                         const std::vector<IoTensor>& ports) {
    for (size_t i = 0; i < count; ++i) {
      if (is_kept(tensors, tensors[i])) continue;  // nobody reads or writes a buffer for it
      // A runtime makes the host's buffers as large as the model says, which may not know.
      const size_t said = context->tensors[tensors[i]].bytes;
      const bool fits = kind == QUADRA_BUFFER_HOST && said >= BytesOf(ports[i]);
      if (!IsPlain(ports[i].element) || fits) continue;
      buffers->source.offer(buffers->source.data, context, tensors[i], BytesOf(ports[i]), kind);
    }
  };
  offer(input_tensors, inputs_read(), session->inputs());
  offer(output_tensors, output_tensors.size(), session->outputs());
}

// In its place: what the backend makes of the system's memory.
Status Partition::ImportBuffer(QuadraBuffer* buffer) {
  if (!IsSystems(buffer->kind)) return Status();
  const auto kind = buffer->kind == QUADRA_BUFFER_DMA_BUF ? SystemMemory::Kind::kDmaBuf
                                                          : SystemMemory::Kind::kHardwareBuffer;
  const Backend& backend = session->backend();
  size_t free = 4 * (input_tensors.size() + output_tensors.size());
  std::unique_ptr<SystemMemory>*at = &imported_, one;
  for (; *at && !(*at)->Is(kind, buffer->handle, buffer->bytes); at = &(*at)->next) {
    if (--free > 0) continue;
    QUADRA_RETURN_IF_ERROR(session->Wait());  // an inference that goes on may work on it
    at->reset();
    break;
  }
  one = std::move(*at);
  if (one) {
    *at = std::move(one->next);
  } else {
    QUADRA_RETURN_IF_ERROR(backend.Import(kind, buffer->handle, buffer->bytes, &one));
    if (!one) return Status();
  }
  buffer->handle = one->object();
  buffer->kind = KindFor(backend);
  one->next = std::move(imported_);
  imported_ = std::move(one);
  return Status();
}

Status Partition::CheckBuffer(int tensor, const QuadraBuffer& buffer) {
  QUADRA_RETURN_IF_ERROR(CheckKind(session->backend(), buffer.kind));
  const auto find = [&](const std::vector<int>& tensors, size_t count,
                        const std::vector<IoTensor>& ports) {
    const auto end = tensors.begin() + static_cast<std::ptrdiff_t>(count);
    const auto found = std::find(tensors.begin(), end, tensor);
    return found == end ? nullptr : &ports[static_cast<size_t>(found - tensors.begin())];
  };
  const IoTensor* port = find(input_tensors, inputs_read(), session->inputs());
  if (!port) port = find(output_tensors, output_tensors.size(), session->outputs());
  if (!port) return Unsupported("the tensor is no input and no output of a partition");
  QuadraBuffer imported = buffer;
  if (buffer.bytes >= BytesOf(*port)) return ImportBuffer(&imported);
  return Unsupported("it has %zu bytes; the tensor has %zu", buffer.bytes, BytesOf(*port));
}

Status Partition::FindBuffer(TfLiteContext* context, int index, const IoTensor& port,
                             bool is_output, QuadraBuffer* found) {
  const TfLiteTensor& tensor = context->tensors[index];
  const size_t bytes = BytesOf(port);
  const char* name = tensor.name ? tensor.name : "";
  const int known = buffers ? buffers->Find(context, subgraph, index, is_output, found) : 0;
  if (known < 0) return DeviceFailed("the buffer for '%s' cannot be had: see the log", name);
  if (known == 0) *found = {QUADRA_BUFFER_HOST, tensor.data, bytes, nullptr, 0};
  if (found->bytes < bytes) {
    return Unsupported("the buffer for '%s' has %zu bytes; the tensor has %zu", name, found->bytes,
                       bytes);
  }
  Status status = CheckKind(session->backend(), found->kind);
  if (status.ok() && !found->handle) return Internal("tensor '%s' has no memory", name);
  if (status.ok()) status = ImportBuffer(found);
  if (status.ok()) return status;
  return Status(status.code(), Format("the buffer for '%s': %s", name, status.message().c_str()));
}

// Whether inputs are of the file's sizes, and outputs, too: these need not be set.
bool Partition::HasSizesOfModel(const TfLiteContext* context) const {
  for (const std::vector<int>* list : {&input_tensors, &output_tensors}) {
    for (const int index : *list) {
      const TfLiteTensor& now = context->tensors[index];
      const TfLiteIntArray *dims = now.dims, *was = model->kept()->tensors[index].dims;
      const TfLiteIntArray* const said = now.dims_signature;
      if (now.allocation_type == kTfLiteDynamic || !dims || !was || dims->size != was->size ||
          !std::equal(dims->data, dims->data + dims->size, was->data) ||
          (said && std::count(said->data, said->data + said->size, -1) > 0)) {
        return false;
      }
    }
  }
  return true;
}

Partition::~Partition() {
  for (const KeptPort& port : kept) {
    if (port.state->busy == session.get()) port.state->busy = nullptr;
  }
}

// Nodes that no interpreter is to run are prepared all the same where another delegate comes later
// (TFLite gives XNNPACK each subgraph): what only they cannot do must not end that.
Status Partition::Prepare(TfLiteContext* context) {
  if (!maker) return PrepareNow(context);
  waits = HasSizesOfModel(context);
  unready = waits ? Status() : PrepareNow(context);
  return Status();
}

Status Partition::PrepareNow(TfLiteContext* context) {
  if (!session) QUADRA_RETURN_IF_ERROR(MakeSession());
  if (!HasUnknownSizes(context)) return PrepareSession(context);
  // A neighbour on the CPU tells the sizes only while it runs: so do we.
  for (size_t i = 0; i < output_tensors.size(); ++i) {
    TfLiteTensor& output = context->tensors[output_tensors[i]];
    if (resources.IsAssigned(static_cast<int>(i))) continue;
    // These own their memory already.
    if (output.is_variable || output.allocation_type == kTfLiteDynamic) continue;
    output.allocation_type = kTfLiteDynamic;
    output.data = nullptr;
  }
  return Status();
}

Status Partition::InvokeSession(TfLiteContext* context, Events* events) {
  QUADRA_RETURN_IF_ERROR(ImportIfNeeded(nullptr));
  QUADRA_RETURN_IF_ERROR(resources.Read(context, *session));
  std::vector<const void*> inputs(inputs_read());
  std::vector<void*> outputs(output_tensors.size());
  PortObjects objects;
  objects.inputs.resize(inputs.size());
  objects.outputs.resize(outputs.size());
  for (const KeptPort& port : kept) {
    QUADRA_RETURN_IF_ERROR(port.state->WaitForOthers(session.get()));
    if (events->goes_on) port.state->busy = session.get();
  }
  QUADRA_RETURN_IF_ERROR(FindKept(*session, kept, &objects));
  const auto find = [&](int tensor, const IoTensor& port, bool is_output, void** object,
                        void** host) {
    QuadraBuffer found{};
    QUADRA_RETURN_IF_ERROR(FindBuffer(context, tensor, port, is_output, &found));
    const bool is_fence = found.event_kind == QUADRA_EVENT_FENCE_FD;
    if (found.event) (is_fence ? events->fences : events->before).push_back(found.event);
    *(found.kind == QUADRA_BUFFER_HOST ? host : object) = found.handle;
    return Status();
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (objects.inputs[i]) continue;
    if (resources.IsRead(static_cast<int>(i))) {
      resources.FindInput(static_cast<int>(i), &inputs[i], &objects.inputs[i]);
      continue;
    }
    void* host = nullptr;
    QUADRA_RETURN_IF_ERROR(
        find(input_tensors[i], session->inputs()[i], false, &objects.inputs[i], &host));
    inputs[i] = host;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (objects.outputs[i]) continue;
    const int index = static_cast<int>(i);
    if (resources.IsAssigned(index)) {
      QUADRA_RETURN_IF_ERROR(
          resources.FindOutput(index, *session, &outputs[i], &objects.outputs[i]));
      continue;
    }
    QUADRA_RETURN_IF_ERROR(
        find(output_tensors[i], session->outputs()[i], true, &objects.outputs[i], &outputs[i]));
  }
  QUADRA_RETURN_IF_ERROR(session->Invoke(inputs, outputs, objects, events));
  TurnKept(objects, kept);
  for (const KeptPort& port : kept) {
    if (!events->done) port.state->busy = nullptr;
  }
  return resources.Assign(context, *session);
}

Status Partition::Invoke(TfLiteContext* context) {
  if (waits) unready = PrepareNow(context);
  waits = false;
  QUADRA_RETURN_IF_ERROR(unready);
  if (HasUnknownSizes(context)) QUADRA_RETURN_IF_ERROR(PrepareSession(context));
  if (is_empty) return Status();
  Events events;
  if (buffers) {
    if (buffers->source.deadline_ms > 0) events.deadline_ms = buffers->source.deadline_ms;
    buffers->GoOn(context, ForC(session->backend().contexts()), &events);
    events.goes_on &= !resources.any();
  }
  Status status = InvokeSession(context, &events);
  const bool taken = !buffers || buffers->Finish(status.ok() ? events.done : nullptr);
  return status.ok() && !taken ? session->Wait() : status;
}

}  // namespace quadra
