// The delegate's report as JSON: one schema, documented in docs/run_folder.md.
#include "delegate_native/base/json_writer.h"
#include "delegate_native/base/toolchain.h"
#include "delegate_native/base/version.h"
#include "delegate_native/delegate/delegate.h"

namespace quadra {
namespace {

void WriteInts(const flatbuffers::Vector<int32_t>* values, JsonWriter* json) {
  json->BeginArray();
  for (int32_t value : *values) json->Number(value);
  json->EndArray();
}

void WriteNumbers(const char* key, const int64_t* values, unsigned count, JsonWriter* json) {
  if (key) json->Key(key);
  json->BeginArray();
  for (unsigned i = 0; i < count; ++i) json->Number(values[i]);
  json->EndArray();
}

void WriteNode(const QuadraVerdict& verdict, JsonWriter* json) {
  json->BeginObject();
  json->Key("subgraph").Number(verdict.subgraph);
  json->Key("index").Number(verdict.node);
  json->Key("op").Text(verdict.op);
  json->Key("name").Text(verdict.name);
  json->Key("on").Text(verdict.on_gpu ? "gpu" : "cpu");
  json->Key("partition").Number(verdict.partition);
  json->Key("reason").Text(verdict.reason);
  if (*verdict.note) json->Key("note").Text(verdict.note);
  json->EndObject();
}

void WriteDispatches(const fb::Plan& plan, JsonWriter* json) {
  json->Key("dispatches").BeginArray();
  for (const fb::Dispatch* dispatch : *plan.dispatches()) {
    json->BeginObject();
    json->Key("name").Text(dispatch->name()->str());
    json->Key("kernel").Text(dispatch->kernel()->str());
    json->Key("nodes");
    WriteInts(dispatch->nodes(), json);
    json->Key("global");
    WriteInts(dispatch->global(), json);
    json->Key("local");
    WriteInts(dispatch->local(), json);
    json->EndObject();
  }
  json->EndArray();
}

void WritePartition(int id, int subgraph, const Partition& partition, JsonWriter* json) {
  Session& session = *partition.session;
  const fb::Plan& plan = *session.plan();
  json->BeginObject();
  json->Key("id").Number(id);
  json->Key("subgraph").Number(subgraph);
  json->Key("nodes").BeginArray();
  for (int node : partition.nodes) json->Number(node);
  json->EndArray();
  int64_t kernels = 0;
  for (const fb::Program* program : *plan.programs()) kernels += program->kernels()->size();
  json->Key("programs").Number(kernels);
  json->Key("activation_bytes").Number(static_cast<int64_t>(plan.activation_bytes()));
  json->Key("activation_bytes_lower_bound")
      .Number(static_cast<int64_t>(plan.activation_bytes_lower_bound()));
  json->Key("constant_bytes").Number(static_cast<int64_t>(plan.constant_bytes()));
  json->Key("shared_constant_bytes").Number(static_cast<int64_t>(session.shared_constant_bytes()));
  json->Key("plan_bytes").Number(static_cast<int64_t>(session.plan_bytes()));
  json->Key("cache").Text(session.cached());
  const CopiedBytes copied = session.copied_bytes();
  json->Key("copied_bytes").Number(copied.all());
  json->Key("copied_inputs_bytes").Number(copied.inputs);
  json->Key("copied_outputs_bytes").Number(copied.outputs);
  json->Key("copied_states_bytes").Number(copied.states);
  json->Key("notes").BeginArray();
  for (const std::string& note : session.notes()) json->Text(note);
  json->EndArray();
  const SessionTimes& times = session.times();
  json->Key("timings_us").BeginObject();
  constexpr const char* kSteps[] = {"import", "passes",       "plan", "compile",
                                    "upload", "first_launch", "tune", "check"};
  for (const char* step : kSteps) json->Key(step).Number(times.SumOf(step));
  json->EndObject();
  json->Key("spans").BeginArray();
  for (const SessionTimes::Span& span : times.spans()) {
    json->BeginObject();
    json->Key("name").Text(span.name);
    json->Key("start_ns").Number(span.start_us * 1000);
    json->Key("end_ns").Number(span.end_us * 1000);
    json->EndObject();
  }
  json->EndArray();
  WriteDispatches(plan, json);
  json->EndObject();
}

void WriteState(const KeptState& state, JsonWriter* json) {
  const DeviceVariable& memory = state.memory;
  const IoTensor& port = memory.port;
  const int64_t memories = memory.next ? 2 : 1;
  const auto bytes = static_cast<int64_t>(BytesOf(port.element));
  json->BeginObject();
  json->Key("name").Text(state.name);
  json->Key("element").Text(NameOf(port.element));
  json->Key("shape").BeginArray();
  for (int axis = 4 - port.rank; axis < 4; ++axis) json->Number(port.shape.axis(axis));
  json->EndArray();
  json->Key("device_bytes").Number(memories * port.shape.elements() * bytes);
  json->EndObject();
}

void WriteProfile(int id, const Partition& partition, JsonWriter* json) {
  for (const RunTimes& run : partition.session->profile()) {
    json->BeginObject();
    json->Key("partition").Number(id);
    json->Key("dispatch_us").BeginArray();
    for (const RunTimes::Dispatch& dispatch : run.dispatches) json->Real(dispatch.us);
    json->EndArray();
    WriteNumbers("at_ns", run.at_ns, RunTimes::kMarks, json);
    json->Key("dispatch_ns").BeginArray();
    for (const RunTimes::Dispatch& dispatch : run.dispatches) {
      if (dispatch.at_ns[3] != 0) WriteNumbers(nullptr, dispatch.at_ns, 4, json);
    }
    json->EndArray();
    json->EndObject();
  }
}

}  // namespace

std::string ToJson(const QuadraVerdict& verdict) {
  JsonWriter json;
  WriteNode(verdict, &json);
  return json.text();
}

std::string Delegate::Report() const {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema_version").Number(1);
  json.Key("version").Text(kVersion);
  json.Key("made_by").Text(Toolchain());
  const Gpu& gpu = *Main().best.gpu;
  json.Key("backend").Text(gpu.backend ? gpu.backend->name() : "none");
  json.Key("backend_notes").BeginArray();
  for (const std::string& note : backend_notes_) json.Text(note);
  json.EndArray();
  json.Key("precision").Text(NameOf(PrecisionOf(options_)));
  json.Key("target").Text(gpu.target.name);
  json.Key("hashed_bytes").Number(hashed_bytes_);
  json.Key("device").BeginObject();
  const GpuInfo& device = gpu.backend ? gpu.backend->info() : gpu.target;
  json.Key("name").Text(device.device_name);
  json.Key("vendor").Text(device.vendor);
  json.Key("version").Text(device.api_version);
  json.Key("driver").Text(device.driver);
  if (gpu.backend) json.Key("target").Written(ToJson(device));
  json.EndObject();
  const bool waited_for = device.api == Api::kGles && !device.has_timer_queries;
  json.Key("dispatch_times_by").Text(waited_for ? "waits" : "timers");
  json.Key("nodes").BeginArray();
  for (const Applied& one : applied_) {
    for (const Verdict& verdict : one.best.verdicts) WriteNode(ForC(one.subgraph, verdict), &json);
  }
  json.EndArray();
  json.Key("partitions").BeginArray();
  for (const Applied& one : applied_) {
    int id = static_cast<int>(one.first_partition);
    for (const auto& partition : one.best.partitions)
      WritePartition(id++, one.subgraph, *partition, &json);
  }
  json.EndArray();
  json.Key("states").BeginArray();
  for (const auto& state : states_.all()) WriteState(*state, &json);
  json.EndArray();
  json.Key("profile").BeginArray();
  for (const Applied& one : applied_) {
    int id = static_cast<int>(one.first_partition);
    for (const auto& partition : one.best.partitions) WriteProfile(id++, *partition, &json);
  }
  json.EndArray();
  json.EndObject();
  return json.text();
}

}  // namespace quadra
