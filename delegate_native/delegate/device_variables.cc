#include "delegate_native/delegate/device_variables.h"

#include <algorithm>
#include <cstring>

#include "delegate_native/delegate/resources.h"
#include "delegate_native/tflite/builtin_params.h"

namespace quadra {
namespace {

size_t BytesOf(const IoTensor& port) {
  return static_cast<size_t>(port.shape.elements()) * BytesOf(port.element);
}

int OnceOf(const ModelNodes::Entry& entry) {
  const bool is_once = entry.registration->builtin_code == kTfLiteBuiltinCallOnce;
  if (!is_once || !entry.node->builtin_data) return -1;
  return static_cast<const TfLiteCallOnceParams*>(entry.node->builtin_data)->init_subgraph_index;
}

bool UsesVariable(const ModelNodes::Entry& entry) {
  const int code = entry.registration->builtin_code;
  return code == kTfLiteBuiltinReadVariable || code == kTfLiteBuiltinAssignVariable;
}

}  // namespace

Status DeviceVariable::Make(const IoTensor& made, std::unique_ptr<DeviceMemory>* memory) {
  if (*memory && made.shape == port.shape) return Status();
  // Kernels may take four numbers at once.
  return backend->MakeMemory((BytesOf(made) + 15) / 16 * 16, nullptr, memory);
}

Status DeviceVariable::Load(const IoTensor& from, const void* numbers) {
  if (from.shape != port.shape) now.reset();
  QUADRA_RETURN_IF_ERROR(Make(from, &now));
  port = from;
  void* view = nullptr;
  QUADRA_RETURN_IF_ERROR(now->Lock(/*reads=*/false, &view));
  memcpy(view, numbers, BytesOf(port));
  QUADRA_RETURN_IF_ERROR(now->Unlock(/*writes=*/true));
  is_loaded = true;
  return Status();
}

Status DeviceVariable::Store(void* numbers) const {
  void* view = nullptr;
  QUADRA_RETURN_IF_ERROR(now->Lock(/*reads=*/true, &view));
  memcpy(numbers, view, BytesOf(port));
  return now->Unlock(/*writes=*/false);
}

void VariableUsers::See(TfLiteContext* context, const ModelNodes& subgraph,
                        const TfLiteDelegate* delegate) {
  std::string found;
  const bool any = std::any_of(subgraph.entries.begin(), subgraph.entries.end(),
                               [&](const auto& entry) { return VariableOf(entry, &found); });
  if (!any) return;
  ForEachSubgraph(context, [&](int i, TfLiteContext* one) {
    ModelNodes model;
    if (!ReadCalled(one, &model).ok()) {
      has_others_ = true;
      return;
    }
    for (const ModelNodes::Entry& entry : model.entries) {
      std::string name;
      if (VariableOf(entry, &name)) users_[name].insert(i);
      if (OnceOf(entry) >= 0) once_[OnceOf(entry)].insert(i);
      has_others_ |= entry.node->delegate && entry.node->delegate != delegate;
    }
  });
}

std::set<std::string> VariableUsers::OwnedBy(int subgraph, const ModelNodes& model,
                                             const std::vector<bool>& on_gpu) const {
  std::set<std::string> owned;
  if (has_others_) return owned;
  for (const auto& [name, users] : users_) {
    bool is_own = users.count(subgraph) > 0;
    for (int user : users) {
      const auto callers = once_.find(user);
      is_own &= user == subgraph ||
                (callers != once_.end() && callers->second == std::set<int>{subgraph});
    }
    if (is_own) owned.insert(name);
  }
  bool any_use = false;
  for (size_t i = 0; i < model.entries.size(); ++i) {
    const ModelNodes::Entry& entry = model.entries[i];
    std::string name;
    any_use |= UsesVariable(entry);
    if (any_use && OnceOf(entry) >= 0) return {};
    // It is where all its readers are.
    if (VariableOf(entry, &name) && !on_gpu[i]) owned.erase(name);
  }
  return owned;
}

}  // namespace quadra
