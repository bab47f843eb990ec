#include "delegate_native/delegate/resources.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "delegate_native/tflite/builtin_params.h"
#include "delegate_native/tflite/int_array.h"
#include "delegate_native/tflite/quiet.h"
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
  dims.reserve(static_cast<size_t>(port.rank));
  for (int i = 0; i < port.rank; ++i) dims.push_back(port.shape.axis(4 - port.rank + i));
  return dims;
}

// The interpreter holds this in the place of a variable that is on a device.
constexpr int64_t kMark = 0x5175616472613a56;
struct Marked {
  int64_t mark;
  int64_t number;
};

IoTensor MarkPort() { return {{1, 1, 1, 2}, 1, Element::kInt64}; }

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

int IdOf(const ModelNodes& model, int handle) {
  std::string name, other;
  const auto entry_of = [&](const auto& is_it) {
    return std::find_if(model.entries.begin(), model.entries.end(), is_it);
  };
  const auto own = entry_of([&](const ModelNodes::Entry& entry) {
    return VariableOf(entry, &name) && entry.node->outputs->data[0] == handle;
  });
  if (own == model.entries.end()) return -1;
  const auto first = entry_of(
      [&](const ModelNodes::Entry& entry) { return VariableOf(entry, &other) && other == name; });
  return first->node->outputs->data[0];
}

void FindVariables(const TfLiteContext& context, const ModelNodes& model, KnownTensors* known) {
  for (const ModelNodes::Entry& entry : model.entries) {
    std::string name;
    // The interpreter keeps nodes in order that read or make tensors of this type.
    if (VariableOf(entry, &name) &&
        context.tensors[entry.node->outputs->data[0]].type == kTfLiteResource) {
      const int handle = entry.node->outputs->data[0];
      known->variables[handle] = IdOf(model, handle);
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
  kernels_.clear();
  for (size_t i = 0; i < model.plan.size(); ++i) {
    const ModelNodes::Entry& entry = model.entries[i];
    const bool reads = IsOp(entry, kTfLiteBuiltinReadVariable, 1, 1);
    if ((!reads && !IsOp(entry, kTfLiteBuiltinAssignVariable, 2, 0)) ||
        IndexIn(nodes, 0, model.plan[i]) < 0) {
      continue;
    }
    Kernel kernel;
    kernel.node = *entry.node;
    kernel.op = *entry.registration;
    kernel.variable = IdOf(model, kernel.handle());
    kernel.port =
        reads ? IndexIn(inputs, 0, kernel.tensor())
              : IndexIn(outputs, outputs.size() - static_cast<size_t>(states), kernel.tensor());
    // Without a port it reads what the partition assigned.
    if (kernel.variable < 0 || (reads && kernel.port < 0 && !inputs.empty())) continue;
    for (const ModelNodes::Entry& one : model.entries) {
      std::string name;
      if (!VariableOf(one, &name) || one.node->outputs->data[0] != kernel.handle()) continue;
      kernel.handle_node = *one.node;
      kernel.handle_op = *one.registration;
    }
    for (Kernel& before : kernels_) {
      before.is_last &= reads || before.variable != kernel.variable || before.reads();
    }
    kernels_.push_back(std::move(kernel));
  }
}

int Resources::reads() const {
  int count = 0;
  for (const Kernel& kernel : kernels_) count += kernel.reads() && kernel.port >= 0;
  return count;
}

const Resources::Kernel* Resources::At(bool reads, int port) const {
  for (const Kernel& kernel : kernels_) {
    if (kernel.reads() == reads && kernel.port == port) return &kernel;
  }
  return nullptr;
}

// Runtimes differ in which of the kernel's functions writes the number.
Status Resources::FindNumber(TfLiteContext* context, Kernel* kernel) {
  TfLiteTensor& made = context->tensors[kernel->handle()];
  const TfLiteTensor before = made;
  made.allocation_type = kTfLiteDynamic;
  made.bytes = sizeof(kernel->number);
  made.data = malloc(made.bytes);
  const TfLiteRegistration& op = kernel->handle_op;
  const bool ok = made.data && op.prepare && op.invoke &&
                  op.prepare(context, &kernel->handle_node) == kTfLiteOk &&
                  op.invoke(context, &kernel->handle_node) == kTfLiteOk && made.data;
  if (ok) memcpy(&kernel->number, made.data, sizeof(kernel->number));
  free(made.data);
  made = before;
  return ok ? Status() : Internal("the interpreter gave no handle '%s'", NameOf(before));
}

// The tensor of the handle has no memory where this delegate runs VAR_HANDLE.
Status Resources::Run(TfLiteContext* context, Kernel* kernel) {
  if (kernel->number < 0) QUADRA_RETURN_IF_ERROR(FindNumber(context, kernel));
  TfLiteTensor& tensor = context->tensors[kernel->handle()];
  const TfLiteTensor before = tensor;
  tensor.data = &kernel->number;
  tensor.bytes = sizeof(kernel->number);
  const bool ok = kernel->op.invoke && kernel->op.invoke(context, &kernel->node) == kTfLiteOk;
  tensor = before;
  if (ok) return Status();
  return Internal("the interpreter could not %s the variable for '%s'",
                  kernel->reads() ? "read" : "assign", NameOf(context->tensors[kernel->tensor()]));
}

// For the time of a kernel its tensor is in the port's memory, whatever the interpreter thinks of
// it: nobody else sees that.
Status Resources::RunOn(TfLiteContext* context, const IoTensor& port, TfLiteType type,
                        Kernel* kernel, Memory* memory) {
  const std::vector<int> dims = DimsOf(port);
  IntArray given = MakeIntArray(dims);
  if (!given) return Internal("out of memory");
  TfLiteTensor& tensor = context->tensors[kernel->tensor()];
  const TfLiteTensor before = tensor;
  if (type != kTfLiteNoType) tensor.type = type;
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
  for (const auto& variable : device_) {
    if (variable->id == kernel.variable && !variable->is_off) return variable.get();
  }
  return nullptr;
}

// Whether the update of a variable is where its numbers are, and no memory of its own.
bool Resources::IsInPlace(const Session& session, const Kernel& kernel) const {
  const Ports<PlanPort> ports = PortsOf(*session.plan());
  return std::any_of(kernels_.begin(), kernels_.end(), [&](const Kernel& read) {
    return read.reads() && read.variable == kernel.variable &&
           ports.inputs[static_cast<size_t>(read.port)].state == kernel.port;
  });
}

void Resources::KeepOnDevice(const Session& session, const DeviceVariables& variables) {
  device_ = variables;
  if (!any()) return;
  const Ports<PlanPort> ports = PortsOf(*session.plan());
  for (const Kernel& kernel : kernels_) {
    DeviceVariable* const variable = OnDevice(kernel);
    if (!variable || kernel.port < 0) continue;
    const auto at = static_cast<size_t>(kernel.port);
    const bool is_own = (kernel.reads() ? ports.inputs : ports.outputs)[at].is_own;
    // A port of two variables would have to be in two memories.
    const bool is_first = At(kernel.reads(), kernel.port) == &kernel;
    variable->is_off = !is_own || !is_first || !IsPlain(kernel.PortOf(session).element);
  }
}

Status Resources::Read(TfLiteContext* context, const Session& session) {
  for (Kernel& kernel : kernels_) {
    DeviceVariable* const variable = OnDevice(kernel);
    if (!kernel.reads() || (variable && variable->is_loaded)) continue;
    const IoTensor& port = kernel.PortOf(session);
    if (!Fit(port, &kernel.memory)) return Internal("out of memory");
    QUADRA_RETURN_IF_ERROR(RunOn(context, port, kTfLiteNoType, &kernel, &kernel.memory));
    if (!variable) continue;
    variable->is_off = !variable->Load(port, kernel.memory.data.get()).ok();
    if (!variable->is_off) kernel.memory = Memory();
  }
  return Status();
}

void Resources::FindInput(int input, const void** host, void** object) const {
  const Kernel& kernel = *At(true, input);
  const DeviceVariable* const variable = OnDevice(kernel);
  if (variable) *object = variable->now->object();
  if (!variable) *host = kernel.memory.data.get();
}

Status Resources::FindOutput(int output, const Session& session, void** host, void** object) {
  Kernel& kernel = const_cast<Kernel&>(*At(false, output));
  const IoTensor& port = kernel.PortOf(session);
  DeviceVariable* const variable = OnDevice(kernel);
  if (!variable || !kernel.is_last) {
    if (!Fit(port, &kernel.memory)) return Internal("out of memory");
    *host = kernel.memory.data.get();
    return Status();
  }
  const bool in_place = IsInPlace(session, kernel);
  if (!in_place) QUADRA_RETURN_IF_ERROR(variable->Make(port, &variable->next));
  *object = (in_place ? variable->now : variable->next)->object();
  return Status();
}

// Another reader gets an error from the interpreter's kernel, for the type differs.
Status Resources::Mark(TfLiteContext* context, Kernel* kernel, DeviceVariable* variable) {
  const Marked marked = {kMark, NextMark()};
  Memory memory;
  if (!Fit(MarkPort(), &memory)) return Internal("out of memory");
  memcpy(memory.data.get(), &marked, sizeof(marked));
  QUADRA_RETURN_IF_ERROR(RunOn(context, MarkPort(), kTfLiteInt64, kernel, &memory));
  variable->mark = marked.number;
  return Status();
}

Status Resources::AssignOnDevice(TfLiteContext* context, const Session& session, Kernel* kernel,
                                 DeviceVariable* variable) {
  if (kernel->port < 0) {
    const TfLiteTensor& tensor = context->tensors[kernel->tensor()];
    IoTensor port;
    port.rank = tensor.dims->size;
    port.shape = ShapeOf(tensor.dims->data, port.rank);
    if (!ElementOf(tensor.type, &port.element)) return Internal("a variable has no type");
    QUADRA_RETURN_IF_ERROR(variable->Load(port, tensor.data));
  } else if (!IsInPlace(session, *kernel)) {
    std::swap(variable->now, variable->next);
    variable->port = kernel->PortOf(session);
    variable->is_loaded = true;
  }
  return variable->mark ? Status() : Mark(context, kernel, variable);
}

Status Resources::Assign(TfLiteContext* context, const Session& session) {
  for (Kernel& kernel : kernels_) {
    if (kernel.reads() || !kernel.is_last) continue;
    if (DeviceVariable* const variable = OnDevice(kernel)) {
      QUADRA_RETURN_IF_ERROR(AssignOnDevice(context, session, &kernel, variable));
    } else if (kernel.port < 0) {
      QUADRA_RETURN_IF_ERROR(Run(context, &kernel));
    } else {
      // The first of a port has its memory.
      Memory& memory = const_cast<Kernel*>(At(false, kernel.port))->memory;
      QUADRA_RETURN_IF_ERROR(
          RunOn(context, kernel.PortOf(session), kTfLiteNoType, &kernel, &memory));
    }
  }
  return Status();
}

// Whether the variable is this interpreter's, and it has it back.
bool Resources::ReturnOne(TfLiteContext* context, DeviceVariable* variable) {
  Kernel *read = nullptr, *assign = nullptr;
  for (Kernel& kernel : kernels_) {
    if (kernel.variable == variable->id) (kernel.reads() ? read : assign) = &kernel;
  }
  Memory memory;
  if (!read || !assign || !Fit(MarkPort(), &memory) ||
      !RunOn(context, MarkPort(), kTfLiteInt64, read, &memory).ok()) {
    return false;
  }
  Marked marked;
  memcpy(&marked, memory.data.get(), sizeof(marked));
  return marked.mark == kMark && marked.number == variable->mark && Fit(variable->port, &memory) &&
         variable->Store(memory.data.get()).ok() &&
         RunOn(context, variable->port, kTfLiteNoType, assign, &memory).ok();
}

void Resources::Return(TfLiteContext* context, const ModelNodes& model, DeviceVariables* kept) {
  if (kept->empty()) return;
  Resources all;
  all.Find(model, model.plan, {}, {}, 0);
  // It is no error that a variable is another interpreter's.
  const Quiet quiet(context);
  DeviceVariables others;
  for (const auto& variable : *kept) {
    if (!all.ReturnOne(context, variable.get())) others.push_back(variable);
  }
  kept->swap(others);
}

}  // namespace quadra
