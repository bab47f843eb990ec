#include "delegate_native/session/session.h"

#include <algorithm>
#include <utility>

#include "delegate_native/base/log.h"
#include "delegate_native/session/io_memory.h"
#include "delegate_native/session/outputs_of_nothing.h"

namespace quadra {
namespace {

constexpr size_t kMostProfiles = 100;

std::vector<IoTensor> PortsOf(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<IoTensor> ports;
  for (ValueId id : values) {
    const Value& value = graph.value(id);
    ports.push_back({value.shape, value.rank, value.element});
  }
  return ports;
}

// Whether the plan has the numbers as the interpreter does.
bool IsAsGiven(const fb::Plan& plan, const fb::Io& io, const IoTensor& port) {
  const fb::Tensor& tensor = *plan.tensors()->Get(static_cast<unsigned>(io.tensor()));
  return IsPlain(port.element) || tensor.cell() > fb::Cell_Int || HasWords(port, NumbersOf(io));
}

bool IsStateOfBytes(const fb::Plan& plan, const IoTensor& port, bool is_input, int at) {
  const Ports<PlanPort> ports = quadra::PortsOf(plan);
  for (size_t i = 0; i < ports.inputs.size(); ++i) {
    const int output = ports.inputs[i].state;
    if (output < 0 || (is_input ? static_cast<int>(i) : output) != at) continue;
    return ports.inputs[i].bytes == static_cast<size_t>(port.shape.elements());
  }
  return false;
}

}  // namespace

Session::Session(Graph graph, std::shared_ptr<Backend> backend, SessionOptions options)
    : graph_(std::move(graph)), backend_(std::move(backend)), options_(std::move(options)) {
  inputs_ = PortsOf(graph_, graph_.inputs);
  outputs_ = PortsOf(graph_, graph_.outputs);
  request_.precision = options_.precision;
  if (!options_.dump_tensors) graph_.tensors.clear();  // no plan copies them
}

Session::Session(std::vector<IoTensor> inputs, int only_shapes, std::vector<IoTensor> outputs,
                 const std::shared_ptr<Backend>& backend, const SessionOptions& options)
    : Session(Graph(), backend, options) {
  has_graph_ = false;
  graph_.only_shapes = only_shapes;
  inputs_ = std::move(inputs);
  outputs_ = std::move(outputs);
}

size_t Session::shared_constant_bytes() const {
  size_t bytes = 0;
  for (const auto& weights : weights_) {
    if (weights.use_count() > 1) bytes += weights->size;
  }
  return bytes;
}

Status Session::Wait() {
  Events none;
  none.deadline_ms = deadline_ms_;
  return executable_ ? executable_->Await(none, false) : Status();
}

const std::string& Session::cached() {
  EndSave();
  return cached_;
}

// Running work reads the plan's constants: if it does not end, they stay for good.
void Session::ReleaseExecutable() {
  if (!Wait().ok()) {
    Log(0, "an inference that goes on does not end: its memory is not given back");
    struct Kept {
      std::unique_ptr<Executable> executable;
      PlanBytes plan;
      PlanWeights weights;
    };
    static_cast<void>(new Kept{std::move(executable_), std::move(plan_), std::move(weights_)});
  }
  executable_.reset();
}

bool Session::NeedsGraph(const std::vector<Shape>* input_shapes) const {
  if (has_graph_) return false;
  if (!ready_ || !executable_ || !executable_->is_intact()) return true;
  for (size_t i = 0; input_shapes && i < inputs_.size(); ++i) {
    if (inputs_[i].shape != (*input_shapes)[i]) return true;
  }
  return false;
}

Status Session::SetGraph(Graph graph) {
  if (graph.inputs.size() != inputs_.size() || graph.outputs.size() != outputs_.size() ||
      graph.only_shapes != graph_.only_shapes) {
    return Internal("the graph has other inputs or outputs than were kept");
  }
  graph_ = std::move(graph);
  graph_.tensors.clear();
  has_graph_ = true;
  return Status();
}

Status Session::OutputsOfNothing(const std::vector<Shape>& input_shapes,
                                 std::vector<IoTensor>* outputs) const {
  *outputs = outputs_;
  return quadra::OutputsOfNothing(graph_, input_shapes, outputs);
}

Status Session::Prepare(const std::vector<Shape>& input_shapes) {
  if (input_shapes.size() != inputs_.size()) {
    return Internal("%zu shapes for %zu inputs", input_shapes.size(), inputs_.size());
  }
  for (size_t i = 0; i < input_shapes.size(); ++i) {
    Shape& shape = inputs_[i].shape;
    if (shape == input_shapes[i]) continue;
    shape = input_shapes[i];
    ready_ = false;
    request_ = {options_.precision, true, {}};
    notes_.clear();
    is_tuned_ = is_checked_ = false;
  }
  if (ready_) return Status();
  QUADRA_RETURN_IF_ERROR(MakeReady());
  ready_ = true;
  return Status();
}

// Plans take floats, int32, bytes and words of int64, and give the same, bytes only as states:
// other elements are brought from and to these here.
Status Session::Run(std::vector<const void*> inputs, std::vector<void*> outputs, RunTimes* times) {
  const fb::Plan& plan = *fb::GetPlan(plan_.data());
  staged_.inputs.resize(inputs.size());
  staged_.outputs.resize(outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (IsAsGiven(plan, *plan.inputs()->Get(static_cast<unsigned>(i)), inputs_[i])) continue;
    Widen(inputs[i], inputs_[i], &staged_.inputs[i]);
    inputs[i] = staged_.inputs[i].data();
  }
  std::vector<void*> results = outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (IsAsGiven(plan, *plan.outputs()->Get(static_cast<unsigned>(i)), outputs_[i])) continue;
    std::vector<int32_t>& staged = staged_.outputs[i];
    staged.resize(static_cast<size_t>(outputs_[i].shape.elements()));
    results[i] = staged.data();
  }
  QUADRA_RETURN_IF_ERROR(executable_->Run(inputs, results, times));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (results[i] == outputs[i]) continue;
    Narrow(staged_.outputs[i], outputs_[i].element, outputs[i]);
  }
  return Status();
}

Status Session::Bind(Inference* inference) {
  const PortObjects& objects = inference->objects;
  const bool any = objects.any();
  if (!any && !has_bound_) return Status();
  const auto check = [this](const char* kind, const std::vector<void*>& given,
                            const std::vector<IoTensor>& ports) {
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i] || IsPlain(ports[i].element)) continue;
      if (IsStateOfBytes(*plan(), ports[i], &ports == &inputs_, static_cast<int>(i))) continue;
      return Unsupported("the buffer for %s %zu: only float32 and int32 can be in one", kind, i);
    }
    return Status();
  };
  QUADRA_RETURN_IF_ERROR(check("input", objects.inputs, inputs_));
  QUADRA_RETURN_IF_ERROR(check("output", objects.outputs, outputs_));
  has_bound_ = true;  // where it fails, too: some may be in place
  QUADRA_RETURN_IF_ERROR(executable_->Bind(objects));
  has_bound_ = any;
  return Status();
}

Status Session::Place(const PortObjects& objects) {
  if (!executable_) return Status();
  Inference inference = {{}, {}, objects, nullptr, false, RunTimes()};
  return Bind(&inference);
}

// One after the other; each says itself whether the options ask for it.
const Session::RunStep Session::kRunSteps[] = {
    &Session::LoadAgain, &Session::CollectSave, &Session::Bind,
    &Session::Execute,   &Session::SavePlan,    &Session::KeepTimes,
};

Status Session::Invoke(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                       const PortObjects& objects, Events* events) {
  if (!ready_) return Internal("invoked before it was prepared");
  Inference inference = {inputs, outputs, objects, events, false, RunTimes()};
  for (const RunStep step : kRunSteps) QUADRA_RETURN_IF_ERROR((this->*step)(&inference));
  return Status();
}

Status Session::LoadAgain(Inference*) {
  if (executable_ && executable_->is_intact()) return Status();
  ReleaseExecutable();  // first: it may fill the device
  return MakeReady();
}

Status Session::CollectSave(Inference*) {
  if (writer_ && writer_->is_done()) EndSave();
  return Status();
}

Status Session::Execute(Inference* inference) {
  Events* const events = inference->events;
  inference->measures = options_.profile && !options_.dump_tensors;
  // Drivers give the binaries of a program that has run.
  const bool goes_on = events && events->goes_on && executable_->can_start(*events) &&
                       !options_.profile && !options_.dump_tensors && unsaved_.empty() &&
                       inference->objects.all();
  QUADRA_RETURN_IF_ERROR(executable_->Await(events ? *events : Events(), goes_on));
  if (!goes_on) {
    return Run(inference->inputs, inference->outputs,
               inference->measures ? &inference->times : nullptr);
  }
  deadline_ms_ = events->deadline_ms;
  return executable_->Start(events);
}

Status Session::SavePlan(Inference*) {
  if (unsaved_.empty()) return Status();
  BeginSave();
  if (!writer_) DiscardConstants();
  return Status();
}

Status Session::KeepTimes(Inference* inference) {
  if (!inference->measures) return Status();
  if (profile_.size() == kMostProfiles) profile_.erase(profile_.begin());
  profile_.push_back(std::move(inference->times));
  return Status();
}

}  // namespace quadra
