#include "delegate_native/delegate/resources.h"

#include <algorithm>
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
  for (size_t i = 0; i < model.plan.size(); ++i) {
    const ModelNodes::Entry& entry = model.entries[i];
    std::string name;
    if (VariableOf(entry, &name)) {
      handles_[entry.node->outputs->data[0]] = {*entry.node, *entry.registration, -1};
    }
    if (IndexIn(nodes, 0, model.plan[i]) < 0) continue;
    Kernel kernel{*entry.node, *entry.registration, -1};
    if (IsOp(entry, kTfLiteBuiltinReadVariable, 1, 1)) {
      kernel.port = IndexIn(inputs, 0, kernel.tensor());
      if (kernel.port < 0) continue;  // it reads what the partition assigned
      reads_.push_back(kernel);
      read_[kernel.port];
    } else if (IsOp(entry, kTfLiteBuiltinAssignVariable, 2, 0)) {
      kernel.port = IndexIn(outputs, outputs.size() - static_cast<size_t>(states), kernel.tensor());
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
Status Resources::RunOn(TfLiteContext* context, const IoTensor& port, const Kernel& kernel,
                        Memory* memory) {
  const std::vector<int> dims = DimsOf(port);
  IntArray given = MakeIntArray(dims);
  if (!given) return Internal("out of memory");
  TfLiteTensor& tensor = context->tensors[kernel.tensor()];
  const TfLiteTensor before = tensor;
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

Status Resources::Read(TfLiteContext* context, const std::vector<IoTensor>& inputs) {
  for (const Kernel& kernel : reads_) {
    const IoTensor& port = inputs[static_cast<size_t>(kernel.port)];
    Memory& memory = read_[kernel.port];
    if (!Fit(port, &memory)) return Internal("out of memory");
    QUADRA_RETURN_IF_ERROR(RunOn(context, port, kernel, &memory));
  }
  return Status();
}

void* Resources::MemoryFor(int output, const IoTensor& port) {
  Memory& memory = assigned_[output];
  return Fit(port, &memory) ? memory.data.get() : nullptr;
}

Status Resources::Assign(TfLiteContext* context, const std::vector<IoTensor>& outputs) {
  for (const Kernel& kernel : assigns_) {
    const bool is_port = kernel.port >= 0;
    QUADRA_RETURN_IF_ERROR(is_port ? RunOn(context, outputs[static_cast<size_t>(kernel.port)],
                                           kernel, &assigned_[kernel.port])
                                   : Run(context, kernel));
  }
  return Status();
}

}  // namespace quadra
