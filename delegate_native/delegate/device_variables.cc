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
  std::string name;
  const bool any = std::any_of(subgraph.entries.begin(), subgraph.entries.end(),
                               [&](const auto& entry) { return VariableOf(entry, &name); });
  if (!any) return;
  ForEachSubgraph(context, [&](int i, TfLiteContext* one) {
    ModelNodes model;
    if (!ReadCalled(one, &model).ok()) has_others_ = true;
    for (const ModelNodes::Entry& entry : model.entries) {
      has_others_ |= entry.node->delegate && entry.node->delegate != delegate;
      if (VariableOf(entry, &name)) {
        names_.push_back(name);
        users_.push_back(i);
      } else if (OnceOf(entry) >= 0) {
        once_.push_back(OnceOf(entry));
        callers_.push_back(i);
      }
    }
  });
}

bool VariableUsers::IsOwned(int subgraph, const std::string& name) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (users_[i] == subgraph || names_[i] != name) continue;
    bool is_first = false;  // its numbers come from there
    for (size_t k = 0; k < once_.size(); ++k) {
      if (once_[k] != users_[i]) continue;
      if (callers_[k] != subgraph) return false;
      is_first = true;
    }
    if (!is_first) return false;
  }
  return true;
}

DeviceVariables VariableUsers::OwnedBy(int subgraph, const ModelNodes& model,
                                       const std::vector<Verdict>& verdicts) const {
  DeviceVariables owned;
  bool any_use = has_others_;
  for (size_t i = 0; i < model.entries.size(); ++i) {
    const ModelNodes::Entry& entry = model.entries[i];
    if (any_use && (has_others_ || OnceOf(entry) >= 0)) return {};
    any_use |= UsesVariable(entry);
    std::string name;
    if (!VariableOf(entry, &name)) continue;
    const int id = IdOf(model, entry.node->outputs->data[0]);
    DeviceVariable* variable = nullptr;
    for (const auto& one : owned) {
      if (one->id == id) variable = one.get();
    }
    if (!variable) {
      owned.push_back(std::make_shared<DeviceVariable>());
      variable = owned.back().get();
      variable->id = id;
      variable->is_off = !IsOwned(subgraph, name);
    }
    variable->is_off |= !verdicts[i].on_gpu;  // it is where all its readers are
  }
  return owned;
}

}  // namespace quadra
