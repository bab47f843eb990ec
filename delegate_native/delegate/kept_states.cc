#include "delegate_native/delegate/kept_states.h"

#include <algorithm>
#include <utility>

#include "delegate_native/delegate/partition.h"

namespace quadra {
namespace {

const char* NameOf(const TfLiteTensor& tensor) { return tensor.name ? tensor.name : ""; }

size_t BytesOf(const IoTensor& port) {
  return static_cast<size_t>(port.shape.elements()) * BytesOf(port.element);
}

bool Lists(const TfLiteIntArray* list, int number) {
  return list && std::find(list->data, list->data + list->size, number) != list->data + list->size;
}

// Whether an interpreter's caller fills the tensor, and a node reads it.
bool IsInput(const TfLiteContext& context, int tensor, const ModelNodes& model) {
  const TfLiteTensor& one = context.tensors[tensor];
  if (one.allocation_type == kTfLiteMmapRo || one.is_variable) return false;
  bool is_read = false;
  for (const ModelNodes::Entry& entry : model.entries) {
    if (Lists(entry.node->outputs, tensor)) return false;
    is_read |= Lists(entry.node->inputs, tensor);
  }
  return is_read;
}

// Whether only nodes of the partition read it.
bool IsReadInside(const Partition& partition, int tensor, const ModelNodes& model) {
  for (size_t i = 0; i < model.entries.size(); ++i) {
    const bool is_inside = std::find(partition.nodes.begin(), partition.nodes.end(),
                                     model.plan[i]) != partition.nodes.end();
    if (!is_inside && Lists(model.entries[i].node->inputs, tensor)) return false;
  }
  return true;
}

int IndexOf(const std::vector<int>& tensors, int tensor) {
  const auto found = std::find(tensors.begin(), tensors.end(), tensor);
  return found == tensors.end() ? -1 : static_cast<int>(found - tensors.begin());
}

Status Wrong(const std::string& name, const char* why) {
  return Unsupported("option states: '%s' %s", name.c_str(), why);
}

std::string SizeOf(const IoTensor& port) {
  return ToString(port.shape) + " " + NameOf(port.element);
}

}  // namespace

Status KeptState::CheckPort(const IoTensor& port) const {
  if (port.shape == memory.port.shape && port.element == memory.port.element) return Status();
  return Unsupported("option states: '%s' is %s in one place and %s in another", name.c_str(),
                     SizeOf(memory.port).c_str(), SizeOf(port).c_str());
}

Status KeptState::WaitForOthers(const Session* own) {
  if (!busy || busy == own) return Status();
  QUADRA_RETURN_IF_ERROR(busy->Wait());
  busy = nullptr;
  return Status();
}

Status KeptState::Write(const void* numbers, size_t bytes) {
  QUADRA_RETURN_IF_ERROR(WaitForOthers());
  const size_t own = BytesOf(memory.port);
  if (!numbers) return memory.Load(memory.port, std::vector<uint8_t>(own).data());
  if (bytes == own) return memory.Load(memory.port, numbers);
  return InvalidModel("write the state '%s': it has %zu bytes, not %zu", name.c_str(), own, bytes);
}

Status KeptState::Read(void* numbers, size_t bytes) {
  QUADRA_RETURN_IF_ERROR(WaitForOthers());
  if (bytes == BytesOf(memory.port)) return memory.Store(numbers);
  return InvalidModel("read the state '%s': it has %zu bytes, not %zu", name.c_str(),
                      BytesOf(memory.port), bytes);
}

Status FindKept(const Session& session, const std::vector<KeptPort>& ports, PortObjects* objects) {
  if (ports.empty()) return Status();
  const Ports<PlanPort> planned = PortsOf(*session.plan());
  for (const KeptPort& port : ports) {
    const auto in = static_cast<size_t>(port.input), out = static_cast<size_t>(port.output);
    DeviceVariable& memory = port.state->memory;
    QUADRA_RETURN_IF_ERROR(port.state->CheckPort(session.inputs()[in]));
    QUADRA_RETURN_IF_ERROR(port.state->CheckPort(session.outputs()[out]));
    const bool in_place = planned.inputs[in].state == port.output;
    if (!in_place) QUADRA_RETURN_IF_ERROR(memory.Make(memory.port, &memory.next));
    objects->inputs[in] = memory.now->object();
    objects->outputs[out] = (in_place ? memory.now : memory.next)->object();
  }
  return Status();
}

void TurnKept(const PortObjects& objects, const std::vector<KeptPort>& ports) {
  for (const KeptPort& port : ports) {
    DeviceVariable& memory = port.state->memory;
    const void* last = objects.outputs[static_cast<size_t>(port.output)];
    if (memory.now->object() != last) std::swap(memory.now, memory.next);
  }
}

Status KeptStates::Check(const std::string& option) {
  for (const Pair& pair : KeptStates(option).pairs_) {
    if (pair.input.empty()) {
      return InvalidModel("option states=%s: it must be like kv_cache_+h_in=h_out", option.c_str());
    }
  }
  return Status();
}

KeptStates::KeptStates(const std::string& option) {
  for (size_t at = 0; at < option.size();) {
    const size_t end = std::min(option.find('+', at), option.size());
    const std::string one = option.substr(at, end - at);
    const size_t middle = std::min(one.find('='), one.size());
    const bool has_output = middle + 1 < one.size();
    pairs_.push_back({has_output || middle == one.size() ? one.substr(0, middle) : "",
                      has_output ? one.substr(middle + 1) : ""});
    at = end + 1;
  }
}

Status KeptStates::Begin(TfLiteContext* context) {
  states_.clear();
  for (const Pair& pair : pairs_) {
    bool is_there = false;
    ForEachSubgraph(context, [&](int, TfLiteContext* one) {
      for (size_t i = 0; i < one->tensors_size; ++i) {
        is_there |= std::string(NameOf(one->tensors[i])).find(pair.input) != std::string::npos;
      }
    });
    if (!is_there) return Wrong(pair.input, "is in no tensor's name");
  }
  return Status();
}

Status KeptStates::FindInput(const TfLiteContext& context, int tensor, const ModelNodes& model,
                             const std::vector<std::shared_ptr<Partition>>& partitions,
                             Place* place) const {
  place->partition = nullptr;
  for (const auto& partition : partitions) {
    const int input = IndexOf(partition->input_tensors, tensor);
    if (input < 0 || input >= static_cast<int>(partition->inputs_read())) continue;
    place->partition = partition.get();
    place->port.input = input;
  }
  const char* name = NameOf(context.tensors[tensor]);
  if (!place->partition) return Wrong(name, "is not an input of a partition on the GPU");
  if (IsReadInside(*place->partition, tensor, model)) return Status();
  return Wrong(name, "is read by nodes that are not in one partition");
}

// `rest`: the input's name behind the part that the option has.
Status KeptStates::FindOutput(const TfLiteContext& context, const Pair& pair,
                              const std::string& rest, Place* place) const {
  const Partition& partition = *place->partition;
  const int input = partition.input_tensors[static_cast<size_t>(place->port.input)];
  const char* name = NameOf(context.tensors[input]);
  int& output = place->port.output;
  if (pair.output.empty()) {
    const Ports<PlanPort> ports = PortsOf(*partition.session->plan());
    output = ports.inputs[static_cast<size_t>(place->port.input)].state;
    return output >= 0 ? Status() : Wrong(name, "is updated in place by none: name its output");
  }
  int named = 0, alike = 0;
  for (size_t i = 0; i < partition.output_tensors.size(); ++i) {
    const std::string other = NameOf(context.tensors[partition.output_tensors[i]]);
    const size_t at = other.find(pair.output);
    if (at == std::string::npos) continue;
    const bool is_alike = other.compare(at + pair.output.size(), std::string::npos, rest) == 0;
    ++named, alike += is_alike;
    if (named == 1 || is_alike) output = static_cast<int>(i);
  }
  return named == 1 || alike == 1
             ? Status()
             : Wrong(name, named ? "has several outputs" : "has no output of its partition");
}

std::shared_ptr<KeptState> KeptStates::Find(const std::string& name) const {
  for (const auto& state : states_) {
    if (state->name == name) return state;
  }
  return nullptr;
}

// `others`: states of the same subgraph.
Status KeptStates::Keep(const std::string& name, const std::shared_ptr<Backend>& backend,
                        const std::vector<std::string>& others, Place* place) {
  const Session& session = *place->partition->session;
  const auto in = static_cast<size_t>(place->port.input);
  const auto out = static_cast<size_t>(place->port.output);
  const IoTensor& port = session.inputs()[in];
  if (std::find(others.begin(), others.end(), name) != others.end()) {
    return Wrong(name, "are several inputs of one subgraph");
  }
  const Ports<PlanPort> planned = PortsOf(*session.plan());
  // Bytes are bytes in a plan where they are updated in place, and words elsewhere.
  const PlanPort& given = planned.inputs[in];
  const bool is_as_given = given.state == place->port.output && given.bytes == BytesOf(port);
  if ((!IsPlain(port.element) && !is_as_given) || !given.is_own || !planned.outputs[out].is_own) {
    return Wrong(name,
                 "is no float32 or int32 with memory of its own, and no int8 or uint8 that "
                 "is updated in place");
  }
  std::shared_ptr<KeptState> state = Find(name);
  if (state && state->memory.backend != backend) return Wrong(name, "is on two backends");
  if (!state) {
    state = std::make_shared<KeptState>();
    state->name = name;
    state->memory.backend = backend;
    state->memory.port = port;
    QUADRA_RETURN_IF_ERROR(state->Write(nullptr, 0));
    states_.push_back(state);
  }
  place->port.state = state;
  QUADRA_RETURN_IF_ERROR(state->CheckPort(port));
  return state->CheckPort(session.outputs()[out]);
}

Status KeptStates::Share(TfLiteContext* context, const ModelNodes& model,
                         const std::shared_ptr<Backend>& backend,
                         const std::vector<std::shared_ptr<Partition>>& partitions) {
  std::vector<std::string> found;
  for (const Pair& pair : pairs_) {
    for (size_t i = 0; i < context->tensors_size; ++i) {
      const int tensor = static_cast<int>(i);
      const std::string name = NameOf(context->tensors[i]);
      const size_t at = name.find(pair.input);
      if (at == std::string::npos || !IsInput(*context, tensor, model)) continue;
      Place place = {};
      QUADRA_RETURN_IF_ERROR(FindInput(*context, tensor, model, partitions, &place));
      QUADRA_RETURN_IF_ERROR(
          FindOutput(*context, pair, name.substr(at + pair.input.size()), &place));
      const int output = place.partition->output_tensors[static_cast<size_t>(place.port.output)];
      if (!IsReadInside(*place.partition, output, model)) {
        return Wrong(NameOf(context->tensors[output]), "is read by nodes of other partitions");
      }
      QUADRA_RETURN_IF_ERROR(Keep(name.substr(at), backend, found, &place));
      found.push_back(name.substr(at));
      place.partition->kept.push_back(place.port);
    }
  }
  for (const auto& partition : partitions) {
    const Session* const session = partition->session.get();
    if (partition->kept.empty() || !session) continue;
    PortObjects objects;
    objects.inputs.resize(session->inputs().size());
    objects.outputs.resize(session->outputs().size());
    QUADRA_RETURN_IF_ERROR(FindKept(*session, partition->kept, &objects));
    QUADRA_RETURN_IF_ERROR(partition->session->Place(objects));
  }
  return Status();
}

Status KeptStates::Read(const std::string& name, void* numbers, size_t bytes) const {
  const std::shared_ptr<KeptState> state = Find(name);
  return state ? state->Read(numbers, bytes) : Wrong(name, "is no state");
}

Status KeptStates::Write(const char* name, const void* numbers, size_t bytes) const {
  for (const auto& state : states_) {
    if (!name) QUADRA_RETURN_IF_ERROR(state->Write(nullptr, 0));
  }
  if (!name) return Status();
  const std::shared_ptr<KeptState> state = Find(name);
  return state ? state->Write(numbers, bytes) : Wrong(name, "is no state");
}

}  // namespace quadra
