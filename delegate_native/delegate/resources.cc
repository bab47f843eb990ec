#include "delegate_native/delegate/resources.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "delegate_native/tflite/builtin_params.h"
#include "delegate_native/tflite/int_array.h"
#include "delegate_native/tflite/tensor_info.h"

namespace quadra {
namespace {

bool IsOp(const ModelNodes::Entry& entry, int builtin, int inputs, int outputs) {
  return entry.status.ok() && entry.registration->builtin_code == builtin &&
         entry.node->inputs->size == inputs && entry.node->outputs->size == outputs;
}

int IndexIn(const std::vector<int>& list, size_t from, int number) {
  const auto at = std::find(list.begin() + static_cast<std::ptrdiff_t>(from), list.end(), number);
  return at == list.end() ? -1 : static_cast<int>(at - list.begin());
}

size_t BytesOf(const IoTensor& port) {
  return static_cast<size_t>(port.shape.elements()) * BytesOf(port.element);
}

std::vector<int> DimsOf(const IoTensor& port) {
  std::vector<int> dims;
  for (int i = 0; i < port.rank; ++i) dims.push_back(port.shape.axis(4 - port.rank + i));
  return dims;
}

// What the interpreter holds in the place of a variable that is on a device.
constexpr int64_t kMark = 0x5175616472613a56;
struct Marked {
  int64_t mark;
  int64_t number;
};

IoTensor MarkPort() { return {{1, 1, 1, 2}, 1, Element::kInt64}; }

void ReportNothing(TfLiteContext*, const char*, ...) {}

int64_t NextMark() {
  static std::atomic<int> last{0};
  return ++last;
}

}  // namespace

bool VariableOf(const ModelNodes::Entry& entry, std::string* name) {
  if (!IsOp(entry, kTfLiteBuiltinVarHandle, 0, 1) || !entry.node->builtin_data) return false;
  const auto& params = *static_cast<const TfLiteVarHandleParams*>(entry.node->builtin_data);
  *name = params.container ? params.container : "";
  *name += '\n';
  *name += params.shared_name ? params.shared_name : "";
  return true;
}

void FindVariables(const TfLiteContext& context, const ModelNodes& model, KnownTensors* known) {
  for (const ModelNodes::Entry& entry : model.entries) {
    std::string name;
    // The interpreter keeps nodes in order that read or make tensors of this type.
    if (VariableOf(entry, &name) &&
        context.tensors[entry.node->outputs->data[0]].type == kTfLiteResource) {
      known->variables[entry.node->outputs->data[0]] = name;
    }
    if (!IsOp(entry, kTfLiteBuiltinReadVariable, 1, 1)) continue;
    const int made = entry.node->outputs->data[0];
    const TfLiteIntArray* dims = context.tensors[made].dims;
    const bool is_known =
        dims && dims->size <= kMostRank &&
        std::all_of(dims->data, dims->data + dims->size, [](int n) { return n > 0; });
    if (is_known) known->shapes[made] = {ShapeOf(dims->data, dims->size), dims->size};
  }
}

void Resources::Find(const ModelNodes& model, const std::vector<int>& nodes,
                     const std::vector<int>& inputs, const std::vector<int>& outputs, int states) {
  handles_.clear();
  reads_.clear();
  assigns_.clear();
  read_.clear();
  assigned_.clear();
  std::map<int, std::string> names;
  for (size_t i = 0; i < model.plan.size(); ++i) {
    const ModelNodes::Entry& entry = model.entries[i];
    std::string name;
    if (VariableOf(entry, &name)) {
      names[entry.node->outputs->data[0]] = name;
      handles_[entry.node->outputs->data[0]] = {*entry.node, *entry.registration, -1};
    }
    if (IndexIn(nodes, 0, model.plan[i]) < 0) continue;
    Kernel kernel{*entry.node, *entry.registration, -1, "", true};
    if (IsOp(entry, kTfLiteBuiltinReadVariable, 1, 1)) {
      kernel.variable = names[kernel.handle()];
      kernel.port = IndexIn(inputs, 0, kernel.tensor());
      // Without a port it reads what the partition assigned.
      if (kernel.port < 0 && !inputs.empty()) continue;
      reads_.push_back(kernel);
      if (kernel.port >= 0) read_[kernel.port];
    } else if (IsOp(entry, kTfLiteBuiltinAssignVariable, 2, 0)) {
      kernel.port = IndexIn(outputs, outputs.size() - static_cast<size_t>(states), kernel.tensor());
      kernel.variable = names[kernel.handle()];
      for (Kernel& before : assigns_) before.is_last &= before.variable != kernel.variable;
      assigns_.push_back(kernel);
      if (kernel.port >= 0) assigned_[kernel.port];
    }
  }
}

// Runtimes differ in which of the kernel's functions writes the number.
Status Resources::FindNumber(TfLiteContext* context, int tensor, Handle* handle) {
  TfLiteTensor& made = context->tensors[tensor];
  const TfLiteTensor before = made;
  made.allocation_type = kTfLiteDynamic;
  made.bytes = sizeof(handle->number);
  made.data = malloc(made.bytes);
  const TfLiteRegistration& kernel = handle->registration;
  const bool ok = made.data && kernel.prepare && kernel.invoke &&
                  kernel.prepare(context, &handle->node) == kTfLiteOk &&
                  kernel.invoke(context, &handle->node) == kTfLiteOk && made.data;
  if (ok) memcpy(&handle->number, made.data, sizeof(handle->number));
  free(made.data);
  made = before;
  return ok ? Status() : Internal("the interpreter gave no handle '%s'", NameOf(before));
}

// The tensor of the handle has no memory where this delegate runs VAR_HANDLE.
Status Resources::Run(TfLiteContext* context, const Kernel& kernel) {
  const auto found = handles_.find(kernel.handle());
  if (found == handles_.end()) return Internal("a variable has no handle");
  Handle& handle = found->second;
  if (handle.number < 0) {
    QUADRA_RETURN_IF_ERROR(FindNumber(context, kernel.handle(), &handle));
  }
  TfLiteTensor& tensor = context->tensors[kernel.handle()];
  const TfLiteTensor before = tensor;
  tensor.data = &handle.number;
  tensor.bytes = sizeof(handle.number);
  TfLiteNode node = kernel.node;
  const auto invoke = kernel.registration.invoke;
  const bool ok = invoke && invoke(context, &node) == kTfLiteOk;
  tensor = before;
  if (ok) return Status();
  return Internal("the interpreter could not %s the variable for '%s'",
                  kernel.reads() ? "read" : "assign", NameOf(context->tensors[kernel.tensor()]));
}

// For the time of a kernel its tensor is in the port's memory, whatever the interpreter thinks of
// it: nobody else sees that.
Status Resources::RunOn(TfLiteContext* context, const IoTensor& port, TfLiteType type,
                        const Kernel& kernel, Memory* memory) {
  const std::vector<int> dims = DimsOf(port);
  IntArray given = MakeIntArray(dims);
  if (!given) return Internal("out of memory");
  TfLiteTensor& tensor = context->tensors[kernel.tensor()];
  const TfLiteTensor before = tensor;
  tensor.type = type;
  tensor.allocation_type = kTfLiteDynamic;
  tensor.dims = given.release();
  tensor.bytes = BytesOf(port);
  tensor.data = memory->data.release();
  Status status = Run(context, kernel);
  memory->data.reset(tensor.data);
  const IntArray found(tensor.dims);
  tensor = before;
  const bool same = static_cast<int>(dims.size()) == found->size &&
                    std::equal(dims.begin(), dims.end(), found->data);
  if (!status.ok() || same) return status;
  *memory = Memory();
  return Unsupported("the variable for '%s' has another size than the model says", NameOf(before));
}

bool Resources::Fit(const IoTensor& port, Memory* memory) {
  // Kernels may take four numbers at once.
  constexpr size_t kMore = 16;
  const size_t bytes = BytesOf(port) + kMore;
  if (memory->data && memory->bytes == bytes) return true;
  memory->data.reset(malloc(bytes));
  memory->bytes = bytes;
  return memory->data != nullptr;
}

DeviceVariable* Resources::OnDevice(const Kernel& kernel) const {
  if (!device_) return nullptr;
  const auto found = device_->find(kernel.variable);
  return found == device_->end() ? nullptr : found->second.get();
}

// Whether the update of a variable is where its numbers are, and no memory of its own.
bool Resources::IsInPlace(const Session& session, const Kernel& kernel) const {
  const Ports<PlanPort> ports = PortsOf(*session.plan());
  return std::any_of(reads_.begin(), reads_.end(), [&](const Kernel& read) {
    return read.variable == kernel.variable &&
           ports.inputs[static_cast<size_t>(read.port)].state == kernel.port;
  });
}

void Resources::LeaveOut(const Session& session, std::set<std::string>* names) const {
  if (!any()) return;
  const Ports<PlanPort> ports = PortsOf(*session.plan());
  for (const std::vector<Kernel>* kernels : {&reads_, &assigns_}) {
    const bool reads = kernels == &reads_;
    std::set<int> seen;
    for (const Kernel& kernel : *kernels) {
      if (kernel.port < 0) continue;
      const auto at = static_cast<size_t>(kernel.port);
      const IoTensor& port = (reads ? session.inputs() : session.outputs())[at];
      const bool is_own = (reads ? ports.inputs : ports.outputs)[at].is_own;
      // A port of two variables would have to be in two memories.
      if (!is_own || !IsPlain(port.element) || !seen.insert(kernel.port).second) {
        names->erase(kernel.variable);
      }
    }
  }
}

Status Resources::Read(TfLiteContext* context, const Session& session) {
  for (const Kernel& kernel : reads_) {
    DeviceVariable* const variable = OnDevice(kernel);
    if (variable && variable->is_loaded) continue;
    const IoTensor& port = session.inputs()[static_cast<size_t>(kernel.port)];
    Memory& memory = read_[kernel.port];
    if (!Fit(port, &memory)) return Internal("out of memory");
    QUADRA_RETURN_IF_ERROR(RunOn(context, port, kernel, &memory));
    if (!variable) continue;
    if (!variable->Load(port, memory.data.get()).ok()) {
      device_->erase(kernel.variable);
      continue;
    }
    memory = Memory();
  }
  return Status();
}

void Resources::FindInput(int input, const void** host, void** object) {
  for (const Kernel& kernel : reads_) {
    const DeviceVariable* const variable = OnDevice(kernel);
    if (kernel.port == input && variable) *object = variable->now->object();
  }
  if (!*object) *host = read_[input].data.get();
}

Status Resources::FindOutput(int output, const Session& session, void** host, void** object) {
  const IoTensor& port = session.outputs()[static_cast<size_t>(output)];
  for (const Kernel& kernel : assigns_) {
    DeviceVariable* const variable = kernel.is_last ? OnDevice(kernel) : nullptr;
    if (kernel.port != output || !variable) continue;
    const bool in_place = IsInPlace(session, kernel);
    if (!in_place) QUADRA_RETURN_IF_ERROR(variable->Make(port, &variable->next));
    *object = (in_place ? variable->now : variable->next)->object();
    return Status();
  }
  Memory& memory = assigned_[output];
  if (!Fit(port, &memory)) return Internal("out of memory");
  *host = memory.data.get();
  return Status();
}

// Another reader gets an error from the interpreter's kernel, for the type differs.
Status Resources::Mark(TfLiteContext* context, const Kernel& kernel, DeviceVariable* variable) {
  const IoTensor port = MarkPort();
  const Marked marked = {kMark, NextMark()};
  Memory memory;
  if (!Fit(port, &memory)) return Internal("out of memory");
  memcpy(memory.data.get(), &marked, sizeof(marked));
  QUADRA_RETURN_IF_ERROR(RunOn(context, port, kTfLiteInt64, kernel, &memory));
  variable->mark = marked.number;
  return Status();
}

Status Resources::AssignOnDevice(TfLiteContext* context, const Session& session,
                                 const Kernel& kernel, DeviceVariable* variable) {
  if (kernel.port < 0) {
    const TfLiteTensor& tensor = context->tensors[kernel.tensor()];
    IoTensor port;
    port.rank = tensor.dims->size;
    port.shape = ShapeOf(tensor.dims->data, port.rank);
    if (!ElementOf(tensor.type, &port.element)) return Internal("a variable has no type");
    QUADRA_RETURN_IF_ERROR(variable->Load(port, tensor.data));
  } else if (!IsInPlace(session, kernel)) {
    std::swap(variable->now, variable->next);
    variable->port = session.outputs()[static_cast<size_t>(kernel.port)];
    variable->is_loaded = true;
  }
  return variable->mark ? Status() : Mark(context, kernel, variable);
}

Status Resources::Assign(TfLiteContext* context, const Session& session) {
  for (const Kernel& kernel : assigns_) {
    if (!kernel.is_last) continue;
    if (DeviceVariable* const variable = OnDevice(kernel)) {
      QUADRA_RETURN_IF_ERROR(AssignOnDevice(context, session, kernel, variable));
    } else if (kernel.port < 0) {
      QUADRA_RETURN_IF_ERROR(Run(context, kernel));
    } else {
      const IoTensor& port = session.outputs()[static_cast<size_t>(kernel.port)];
      QUADRA_RETURN_IF_ERROR(RunOn(context, port, kernel, &assigned_[kernel.port]));
    }
  }
  return Status();
}

// Whether the variable is this interpreter's, and it has it back.
bool Resources::ReturnOne(TfLiteContext* context, const std::string& name,
                          DeviceVariable* variable) {
  const auto of_name = [&](const Kernel& kernel) { return kernel.variable == name; };
  const auto read = std::find_if(reads_.begin(), reads_.end(), of_name);
  const auto assign = std::find_if(assigns_.begin(), assigns_.end(), of_name);
  if (read == reads_.end() || assign == assigns_.end()) return false;
  const IoTensor marks = MarkPort();
  Memory memory;
  if (!Fit(marks, &memory) || !RunOn(context, marks, kTfLiteInt64, *read, &memory).ok())
    return false;
  Marked marked;
  memcpy(&marked, memory.data.get(), sizeof(marked));
  if (marked.mark != kMark || marked.number != variable->mark) return false;
  if (!Fit(variable->port, &memory) || !variable->Store(memory.data.get()).ok()) return false;
  return RunOn(context, variable->port, *assign, &memory).ok();
}

void Resources::Return(TfLiteContext* context, const ModelNodes& model,
                       std::vector<std::pair<std::string, std::shared_ptr<DeviceVariable>>>* kept) {
  if (kept->empty()) return;
  Resources all;
  all.Find(model, model.plan, {}, {}, 0);
  // It is no error that a variable is another interpreter's.
  const auto report = context->ReportError;
  context->ReportError = ReportNothing;
  for (size_t i = kept->size(); i-- > 0;) {
    const auto& [name, variable] = (*kept)[i];
    if (all.ReturnOne(context, name, variable.get())) {
      kept->erase(kept->begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  context->ReportError = report;
}

}  // namespace quadra
