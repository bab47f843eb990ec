#include "delegate_native/runner/worker.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "delegate_native/base/json.h"
#include "delegate_native/base/lean/clock.h"
#include "delegate_native/base/status.h"
#include "delegate_native/base/toolchain.h"
#include "delegate_native/runner/files.h"
#include "delegate_native/runner/sustained.h"

namespace quadra {
namespace {

constexpr int kSchemaVersion = 1;
constexpr int64_t kBudgetUs = 20000000;  // slow models stop early
constexpr int kLeastRounds = 3;
constexpr int kProfiledRuns = 10;
constexpr char kSame[] = "use a runner and a toolkit of the same version";
constexpr char kQuadra[] = "quadra", kXnnpack[] = "xnnpack";

// The most memory that this process had; 0 where the kernel does not say.
int64_t PeakBytes() {
  std::string status;
  if (!ReadFile("/proc/self/status", &status).ok()) return 0;
  const char* line = strstr(status.c_str(), "VmHWM:");
  return line ? static_cast<int64_t>(strtol(line + strlen("VmHWM:"), nullptr, 10)) * 1024 : 0;
}

int Processors() {
  std::string text;
  if (!ReadFile("/proc/cpuinfo", &text).ok()) return 0;
  int count = text.compare(0, 9, "processor") == 0;
  for (size_t at = 0; (at = text.find("\nprocessor", at)) != std::string::npos; ++at) ++count;
  return count;
}

void Put(const Json& value, JsonWriter* json) {
  switch (value.type) {
    case Json::Type::kNull: json->Real(HUGE_VAL); break;
    case Json::Type::kBool: json->Flag(value.boolean); break;
    case Json::Type::kNumber: {
      const int64_t whole = static_cast<int64_t>(value.number);
      static_cast<double>(whole) == value.number ? json->Number(whole) : json->Real(value.number);
      break;
    }
    case Json::Type::kString: json->Text(value.string); break;
    case Json::Type::kArray:
      json->BeginArray();
      for (const Json& item : value.items) Put(item, json);
      json->EndArray();
      break;
    case Json::Type::kObject:
      json->BeginObject();
      for (const auto& member : value.members) Put(member.second, &json->Key(member.first.c_str()));
      json->EndObject();
      break;
  }
}

void PutNumbers(const std::vector<int64_t>& numbers, JsonWriter* json) {
  json->BeginArray();
  for (int64_t number : numbers) json->Number(number);
  json->EndArray();
}

void PutLaps(const Laps& laps, const Laps& starts, JsonWriter* json) {
  json->BeginObject();
  for (const auto& lap : laps) json->Key(lap.first).Number(lap.second);
  json->Key("starts_ns").BeginObject();
  for (const auto& start : starts) json->Key(start.first).Number(start.second);
  json->EndObject().EndObject();
}

void PutTensor(const Tensor& tensor, JsonWriter* json) {
  const char* type = TypeName(tensor.type);
  json->BeginObject().Key("name").Text(tensor.name);
  if (tensor.own_name != tensor.name) json->Key("tensor").Text(tensor.own_name);
  json->Key("dtype").Text(type ? type : "?");
  PutNumbers({tensor.shape.begin(), tensor.shape.end()}, &json->Key("shape"));
  json->Key("scale").Real(static_cast<double>(tensor.quantization.scale));
  json->Key("zero_point").Number(tensor.quantization.zero_point).EndObject();
}

}  // namespace

Worker::Worker(const Arguments& arguments, const Spec& spec)
    : arguments_(arguments),
      spec_(spec),
      baseline_bytes_(PeakBytes()),
      cpu_model_(FileExists(arguments.folder + "/cpu_model.tflite")
                     ? arguments.folder + "/cpu_model.tflite"
                     : spec.model_path) {}

Outcome Worker::Work() {
  for (const std::string& peer : spec_.peers) {
    if (peer != kXnnpack) {
      return Outcome::Misuse("start the peer " + peer, "the shell's runner knows xnnpack only",
                             "run it in the app: `inv run --on`");
    }
  }
  QUADRA_RETURN_IF_FAILED(tflite_.Load(arguments_.runtime));
  QUADRA_RETURN_IF_FAILED(ReadArrays(arguments_.folder + "/inputs", &inputs_));
  if (arguments_.mode == "run") return Run();
  if (arguments_.mode == "verdicts") return Verdicts();
  if (arguments_.mode == "inputs") return Inputs();
  return Outcome::Misuse("read the argument --mode",
                         arguments_.mode + " is not one of run, verdicts, inputs",
                         "omit it to run");
}

Outcome Worker::Verdicts() {
  Contender quadra(kQuadra, tflite_);
  Stage("ask the delegate for its verdicts");
  QUADRA_RETURN_IF_FAILED(
      quadra.Prepare(spec_, spec_.model_path, spec_.options, &quadra_, arguments_.quadra));
  return Write("verdicts.json", quadra.Report());
}

// Further inputs, one after the other: set.json names each, and the files of its arrays. What
// comes of one is in a folder of its own in set/.
Outcome Worker::Inputs() {
  const std::string path = arguments_.folder + "/set.json";
  std::string text;
  QUADRA_RETURN_IF_FAILED(ReadFile(path, &text));
  Json set;
  const Status status = ParseJson(text, &set);
  const Json* named = status.ok() ? set.Find("inputs") : nullptr;
  const Json* anew = status.ok() ? set.Find("anew") : nullptr;
  if (!named || !anew) {
    return Outcome::Misuse("read " + path, status.ok() ? "a field is missing" : status.message(),
                           kSame);
  }
  QUADRA_RETURN_IF_FAILED(MakeFolder(arguments_.folder + "/set"));
  for (const Json& one : named->items) {
    std::vector<std::string> paths;
    std::vector<Array> arrays;
    const Json* files = one.Find("arrays");
    const Json* name = one.Find("name");
    if (!files || !name) return Outcome::Misuse("read " + path, "an input lacks a field", kSame);
    paths.reserve(files->items.size());
    for (const Json& file : files->items) paths.push_back(arguments_.store + "/" + file.string);
    QUADRA_RETURN_IF_FAILED(ReadArrays(paths, &arrays));
    QUADRA_RETURN_IF_FAILED(RunInput(name->string, arrays, anew->boolean));
  }
  return Outcome();
}

// anew: with interpreters of its own, for models that keep a state.
Outcome Worker::RunInput(const std::string& name, const std::vector<Array>& inputs, bool anew) {
  Stage("input " + name);
  const std::string folder = arguments_.folder + "/set/" + name;
  QUADRA_RETURN_IF_FAILED(MakeFolder(folder));
  tensors_.clear();
  if (anew) on_quadra_.reset();
  if (on_quadra_) {
    QUADRA_RETURN_IF_FAILED(on_quadra_->RunOn(inputs));
  } else {
    on_quadra_ = std::make_unique<Contender>(kQuadra, tflite_);
    QUADRA_RETURN_IF_FAILED(on_quadra_->Start(spec_, spec_.model_path, spec_.options, &quadra_,
                                              arguments_.quadra, inputs));
  }
  tensors_.emplace_back("inputs", on_quadra_->Inputs());
  QUADRA_RETURN_IF_FAILED(WriteFile(folder, "verdicts.json", on_quadra_->Report() + "\n"));
  QUADRA_RETURN_IF_FAILED(SaveGroup(folder, "outputs", *on_quadra_));
  if (spec_.peers.empty()) return Outcome();
  if (anew) on_xnnpack_.reset();
  Outcome done;
  if (on_xnnpack_) {
    done = on_xnnpack_->RunOn(inputs);
  } else {
    on_xnnpack_ = std::make_unique<Contender>(kXnnpack, tflite_);
    done = on_xnnpack_->Start(spec_, cpu_model_, {}, nullptr, "", inputs);
  }
  if (done.ok()) return SaveGroup(folder, "xnnpack_outputs", *on_xnnpack_);
  on_xnnpack_.reset();  // the run of the first input says why
  return Outcome();
}

Outcome Worker::Run() {
  std::vector<std::unique_ptr<Contender>> contenders;
  contenders.push_back(std::make_unique<Contender>(kQuadra, tflite_));
  Contender* quadra = contenders[0].get();
  QUADRA_RETURN_IF_FAILED(
      quadra->Start(spec_, spec_.model_path, spec_.options, &quadra_, arguments_.quadra, inputs_));
  peak_bytes_ = PeakBytes();
  times_.push_back({kQuadra, quadra->laps(), quadra->starts(), {}, {}, {}});
  tensors_.emplace_back("inputs", quadra->Inputs());
  QUADRA_RETURN_IF_FAILED(SaveOutputs("outputs", *quadra));
  QUADRA_RETURN_IF_FAILED(Write("verdicts.json", quadra->Report()));
  if (!spec_.peers.empty()) QUADRA_RETURN_IF_FAILED(StartPeer(&contenders));
  QUADRA_RETURN_IF_FAILED(Measure(contenders));
  if (spec_.sustained_s) QUADRA_RETURN_IF_FAILED(Sustain(quadra));
  contenders.clear();
  QUADRA_RETURN_IF_FAILED(spec_.profile ? Profile() : Dump());
  JsonWriter json;
  json.BeginObject().Key("schema_version").Number(kSchemaVersion).Key("route").Text("shell");
  json.Key("cpus").Number(Processors());
  json.Key("packages").BeginObject();
  json.Key("tensorflow-lite").Text(tflite_.TfLiteVersion()).EndObject();
  json.Key("runner").BeginObject().Key("made_by").Text(Toolchain()).EndObject().EndObject();
  return Write("environment.json", json.text());
}

// A peer that cannot run the model is a finding, not the end of the run.
Outcome Worker::StartPeer(std::vector<std::unique_ptr<Contender>>* contenders) {
  auto peer = std::make_unique<Contender>(kXnnpack, tflite_);
  const Outcome started = peer->Start(spec_, cpu_model_, {}, nullptr, "", inputs_);
  if (!started.ok()) {
    xnnpack_error_ = started.Sentence();
    return KeepTimings();
  }
  times_.push_back({kXnnpack, peer->laps(), peer->starts(), {}, {}, {}});
  QUADRA_RETURN_IF_FAILED(SaveOutputs("xnnpack_outputs", *peer));
  contenders->push_back(std::move(peer));
  return Outcome();
}

// Alternated runs, the one that goes first changing too: what slows the device slows all.
Outcome Worker::Measure(const std::vector<std::unique_ptr<Contender>>& contenders) {
  Stage("measure");
  for (const auto& contender : contenders) {
    for (int i = 0; i < spec_.warm_up; ++i) QUADRA_RETURN_IF_FAILED(contender->Run());
  }
  const size_t count = contenders.size();
  const int64_t pauses = static_cast<int64_t>(count) * spec_.repetitions;
  const int64_t end_us = NowUs() + kBudgetUs + pauses * spec_.delay_ms * 1000;
  for (int round = 0; round < spec_.repetitions; ++round) {
    for (size_t i = 0; i < count; ++i) {
      const size_t turn = round % 2 ? count - 1 - i : i;
      if (spec_.delay_ms) usleep(static_cast<useconds_t>(spec_.delay_ms) * 1000);
      const int64_t started_ns = NowNs(), cpu_us = ProcessCpuUs();
      QUADRA_RETURN_IF_FAILED(contenders[turn]->Run());
      times_[turn].samples_us.push_back((NowNs() - started_ns) / 1000);
      times_[turn].cpu_us.push_back(ProcessCpuUs() - cpu_us);
      times_[turn].starts_ns.push_back(started_ns);
    }
    if (NowUs() > end_us && round + 1 >= kLeastRounds) break;
  }
  return KeepTimings();
}

// Quadra alone, as long as the device gets hot: sustained speed.
Outcome Worker::Sustain(Contender* quadra) {
  Stage(Format("run without a pause for %d s", spec_.sustained_s));
  std::string json;
  QUADRA_RETURN_IF_FAILED(RunSustained(quadra, spec_.sustained_s, &json));
  return Write("sustained.json", json);
}

// Plans and kernels, by a delegate of its own: a driver may have to compile anew to give programs.
Outcome Worker::Dump() {
  Stage("save the plan");
  Contender quadra(kQuadra, tflite_);
  const Options options = With({{"dump_dir", arguments_.folder}});
  QUADRA_RETURN_IF_FAILED(
      quadra.Prepare(spec_, spec_.model_path, options, &quadra_, arguments_.quadra));
  return quadra.Allocate(inputs_);
}

// Times of each dispatch, by a delegate of its own, because asking a driver for times costs time.
Outcome Worker::Profile() {
  Contender quadra(kQuadra, tflite_);
  const Options options = With({{"dump_dir", arguments_.folder}, {"profile", "1"}});
  QUADRA_RETURN_IF_FAILED(
      quadra.Start(spec_, spec_.model_path, options, &quadra_, arguments_.quadra, inputs_));
  Stage("profile each dispatch");
  std::vector<int64_t> walls_us, starts_ns;
  for (int i = 0; i < kProfiledRuns; ++i) {
    starts_ns.push_back(NowNs());
    QUADRA_RETURN_IF_FAILED(quadra.Run());
    walls_us.push_back((NowNs() - starts_ns.back()) / 1000);
  }
  Json report;
  const Status status = ParseJson(quadra.Report(), &report);
  if (!status.ok()) {
    return Outcome::Failed("read the delegate's report", status.message(), "report this as a bug");
  }
  JsonWriter json;
  json.BeginObject().Key("schema_version").Number(kSchemaVersion);
  PutNumbers(walls_us, &json.Key("invoke_us"));
  PutNumbers(starts_ns, &json.Key("invoke_starts_ns"));
  PutLaps(quadra.laps(), quadra.starts(), &json.Key("start"));
  const std::pair<const char*, const char*> parts[] = {
      {"dispatch_times_by", "dispatch_times_by"},
      {"partitions", "partitions"},
      {"profile", "invokes"},
  };
  for (const auto& part : parts) {
    const Json* found = report.Find(part.first);
    if (found) Put(*found, &json.Key(part.second));
  }
  return Write("profile.json", json.EndObject().text());
}

Outcome Worker::SaveOutputs(const std::string& group, const Contender& contender) {
  QUADRA_RETURN_IF_FAILED(SaveGroup(arguments_.folder, group, contender));
  return KeepTimings();
}

// The arrays, and tensors.json of all groups until now.
Outcome Worker::SaveGroup(const std::string& run, const std::string& group,
                          const Contender& contender) {
  std::vector<Tensor> tensors;
  std::vector<std::string> values;
  QUADRA_RETURN_IF_FAILED(contender.Outputs(&tensors, &values));
  const std::string folder = run + "/" + group;
  QUADRA_RETURN_IF_FAILED(MakeFolder(folder));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = ArrayPath("", i).substr(1);
    QUADRA_RETURN_IF_FAILED(WriteFile(folder, name, NpyFile(tensors[i], values[i])));
  }
  tensors_.emplace_back(group, tensors);
  JsonWriter json;
  json.BeginObject();
  for (const auto& one : tensors_) {
    json.Key(one.first.c_str()).BeginArray();
    for (const Tensor& tensor : one.second) PutTensor(tensor, &json);
    json.EndArray();
  }
  return WriteFile(run, "tensors.json", json.EndObject().text() + "\n");
}

Outcome Worker::KeepTimings() {
  JsonWriter json;
  json.BeginObject().Key("schema_version").Number(kSchemaVersion);
  json.Key("threads").Number(spec_.threads).Key("init_us").BeginObject();
  for (const Times& one : times_) {
    PutLaps(one.laps, one.starts,
            &json.Key(one.name == kQuadra ? "quadra_warm" : one.name.c_str()));
  }
  json.EndObject().Key("samples_us").BeginObject();
  for (const Times& one : times_) PutNumbers(one.samples_us, &json.Key(one.name.c_str()));
  json.EndObject().Key("cpu_us").BeginObject();
  for (const Times& one : times_) PutNumbers(one.cpu_us, &json.Key(one.name.c_str()));
  json.EndObject().Key("starts_ns").BeginObject();
  for (const Times& one : times_) PutNumbers(one.starts_ns, &json.Key(one.name.c_str()));
  json.EndObject().Key("memory").BeginObject();
  json.Key("peak_rss_bytes").Number(peak_bytes_);
  json.Key("baseline_rss_bytes").Number(baseline_bytes_).EndObject();
  if (!xnnpack_error_.empty()) json.Key("xnnpack_error").Text(xnnpack_error_);
  return Write("timings.json", json.EndObject().text());
}

Outcome Worker::Write(const char* name, const std::string& text) {
  return WriteFile(arguments_.folder, name, text + "\n");
}

Options Worker::With(Options more) const {
  Options options = spec_.options;
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

}  // namespace quadra
