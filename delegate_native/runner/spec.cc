#include "delegate_native/runner/spec.h"

#include "delegate_native/base/json.h"
#include "delegate_native/base/status.h"
#include "delegate_native/runner/files.h"

namespace quadra {
namespace {

constexpr int kSchemaVersion = 1;

// Reads members of one object; remembers the first that is missing or of another type.
class Members {
 public:
  explicit Members(const Json* object) : object_(object) {}

  const Json& Get(const char* key, Json::Type type) {
    const Json* found = object_ ? object_->Find(key) : nullptr;
    if (found && found->type == type) return *found;
    if (wrong.empty()) wrong = Format("the field %s is missing or wrong", key);
    return nothing_;
  }
  std::string Text(const char* key) { return Get(key, Json::Type::kString).string; }
  int Count(const char* key) {
    const double number = Get(key, Json::Type::kNumber).number;
    return number >= 1 && number <= 1e9 ? static_cast<int>(number) : 0;
  }
  bool Flag(const char* key) { return Get(key, Json::Type::kBool).boolean; }

  std::string wrong;

 private:
  const Json* object_;
  const Json nothing_;
};

// Sets `spec`; what is wrong with the text, or nothing.
std::string Parse(const std::string& text, Spec* spec) {
  Json json;
  const Status status = ParseJson(text, &json);
  if (!status.ok()) return status.message();
  Members whole(&json);
  const int version = whole.Count("schema_version");
  if (version != kSchemaVersion) {
    return Format("its schema_version is %d, this runner reads %d", version, kSchemaVersion);
  }
  Members model(&whole.Get("model", Json::Type::kObject));
  spec->model_name = model.Text("name");
  spec->model_path = model.Text("path");
  if (const Json* signature = json.Find("signature")) spec->signature = signature->string;
  for (const auto& option : whole.Get("options", Json::Type::kObject).members) {
    if (!option.second.string.empty()) {  // an empty word means the default
      spec->options.emplace_back(option.first, option.second.string);
    }
  }
  for (const Json& peer : whole.Get("peers", Json::Type::kArray).items) {
    spec->peers.push_back(peer.string);
  }
  spec->repetitions = whole.Count("repetitions");
  spec->threads = whole.Count("threads");
  spec->deadline_s = whole.Count("deadline_s");
  if (const Json* warm_up = json.Find("warm_up")) {
    spec->warm_up = static_cast<int>(warm_up->number);
  }
  if (json.Find("delay_ms")) spec->delay_ms = whole.Count("delay_ms");
  if (const Json* cpus = json.Find("cpus")) spec->cpus = cpus->string;
  if (json.Find("sustained_s")) spec->sustained_s = whole.Count("sustained_s");
  spec->profile = whole.Flag("profile");
  if (!whole.wrong.empty() || !model.wrong.empty()) {
    return whole.wrong.empty() ? model.wrong : whole.wrong;
  }
  if (spec->repetitions && spec->threads && spec->deadline_s) return "";
  return "repetitions, threads and deadline_s must be 1 or more";
}

}  // namespace

Outcome ParseArguments(int count, char** words, Arguments* arguments) {
  const std::pair<const char*, std::string*> known[] = {
      {"--folder", &arguments->folder},   {"--mode", &arguments->mode},
      {"--runtime", &arguments->runtime}, {"--quadra", &arguments->quadra},
      {"--model", &arguments->model},     {"--peers", &arguments->peers},
      {"--store", &arguments->store},     {"--cases", &arguments->cases},
      {"--pack", &arguments->pack},
  };
  const std::string usage =
      "quadra_runner --folder PATH --runtime LIBRARY --quadra LIBRARY [--mode "
      "run|verdicts|inputs] [--store FOLDER] [--model PATH] [--peers xnnpack|none], or "
      "--cases PATH --pack PATH with the libraries";
  for (int i = 1; i < count; i += 2) {
    std::string* value = nullptr;
    for (const auto& option : known) {
      if (words[i] == std::string(option.first)) value = option.second;
    }
    if (!value || i + 1 == count) {
      return Outcome::Misuse(std::string("read the argument ") + words[i],
                             value ? "it has no value" : "there is no such argument", usage);
    }
    *value = words[i + 1];
  }
  const bool is_batch = !arguments->cases.empty();
  for (const auto& option : known) {
    const std::string* value = option.second;
    const bool needed = value == &arguments->runtime || value == &arguments->quadra ||
                        value == (is_batch ? &arguments->pack : &arguments->folder);
    if (needed && value->empty()) {
      return Outcome::Misuse(std::string("read the argument ") + option.first, "it is missing",
                             usage);
    }
  }
  return Outcome();
}

Outcome ReadSpec(const Arguments& arguments, Spec* spec) {
  const std::string path = arguments.folder + "/spec.json";
  std::string text;
  QUADRA_RETURN_IF_FAILED(ReadFile(path, &text));
  const std::string wrong = Parse(text, spec);
  if (!wrong.empty()) {
    return Outcome::Misuse("read " + path, wrong, "use a runner and a toolkit of the same version");
  }
  if (!arguments.model.empty()) spec->model_path = arguments.model;
  if (!arguments.peers.empty()) spec->peers.clear();
  if (!arguments.peers.empty() && arguments.peers != "none") spec->peers.push_back(arguments.peers);
  return Outcome();
}

}  // namespace quadra
