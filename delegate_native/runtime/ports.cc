#include "delegate_native/runtime/ports.h"

namespace quadra {
namespace {

size_t Given(const std::vector<void*>& objects) {
  size_t given = 0;
  for (const void* object : objects) given += object != nullptr;
  return given;
}

}  // namespace

bool PortObjects::any() const { return Given(inputs) + Given(outputs) > 0; }

bool PortObjects::all() const {
  return Given(inputs) + Given(outputs) == inputs.size() + outputs.size();
}

PlanPort PortOf(const fb::Plan& plan, const fb::Tensor& tensor) {
  PlanPort port;
  port.buffer = static_cast<unsigned>(tensor.buffer());
  port.offset = tensor.offset();
  port.bytes = tensor.bytes();
  const fb::Buffer& buffer = *plan.buffers()->Get(port.buffer);
  port.is_own = buffer.kind() == fb::BufferKind_Io && (port.bytes + 3) / 4 == buffer.bytes() / 4;
  return port;
}

Ports<PlanPort> PortsOf(const fb::Plan& plan) {
  Ports<PlanPort> ports;
  std::vector<int> ports_of(plan.buffers() ? plan.buffers()->size() : 0);
  const auto add = [&](const flatbuffers::Vector<flatbuffers::Offset<fb::Io>>* from,
                       std::vector<PlanPort>* to) {
    for (unsigned i = 0; from && i < from->size(); ++i) {
      const auto tensor = static_cast<unsigned>(from->Get(i)->tensor());
      to->push_back(PortOf(plan, *plan.tensors()->Get(tensor)));
      ++ports_of[to->back().buffer];
    }
  };
  add(plan.inputs(), &ports.inputs);
  add(plan.outputs(), &ports.outputs);
  for (PlanPort& input : ports.inputs) {
    for (size_t i = 0; i < ports.outputs.size() && ports_of[input.buffer] == 2; ++i) {
      if (ports.outputs[i].buffer != input.buffer) continue;
      input.state = static_cast<int>(i);
      ports_of[input.buffer] = 1;
    }
  }
  ports.ForEach([&](PlanPort& port) { port.is_own &= ports_of[port.buffer] == 1; });
  return ports;
}

CopiedBytes CopiedBytesOf(const Ports<PlanPort>& ports) {
  CopiedBytes copied;
  const auto bytes = [](const PlanPort& port) {
    return port.is_copied ? static_cast<int64_t>(port.bytes) : 0;
  };
  for (const PlanPort& output : ports.outputs) copied.outputs += bytes(output);
  for (const PlanPort& input : ports.inputs) {
    const bool is_state = input.state >= 0;
    (is_state ? copied.states : copied.inputs) += bytes(input);
    const int64_t out = is_state ? bytes(ports.outputs[static_cast<size_t>(input.state)]) : 0;
    copied.states += out;
    copied.outputs -= out;
  }
  return copied;
}

Status BindObjects(const PortObjects& objects,
                   const Function<Status(void* object, size_t* bytes)>& measure,
                   Ports<PlanPort>* ports) {
  Status first;
  const auto check = [&](const PlanPort& port, void* object) {
    size_t bytes = 0;
    if (!port.is_own) return Unsupported("its memory serves another tensor, too");
    QUADRA_RETURN_IF_ERROR(measure(object, &bytes));
    if (bytes >= port.bytes) return Status();
    return Unsupported("it has %zu bytes; the tensor has %zu", bytes, port.bytes);
  };
  const auto bind = [&](const char* kind, const std::vector<void*>& given,
                        std::vector<PlanPort>* to) {
    for (size_t i = 0; i < to->size(); ++i) {
      void* object = i < given.size() ? given[i] : nullptr;
      const Status status = object ? check((*to)[i], object) : Status();
      (*to)[i].bound = status.ok() ? object : nullptr;
      (*to)[i].is_copied = !(*to)[i].bound;
      if (first.ok() && !status.ok()) {
        first = Status(status.code(),
                       Format("the buffer for %s %zu: %s", kind, i, status.message().c_str()));
      }
    }
  };
  bind("input", objects.inputs, &ports->inputs);
  bind("output", objects.outputs, &ports->outputs);
  return first;
}

}  // namespace quadra
