#include "delegate_native/runner/batch.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "delegate_native/base/json.h"
#include "delegate_native/base/json_writer.h"
#include "delegate_native/base/status.h"
#include "delegate_native/runner/contender.h"
#include "delegate_native/runner/files.h"

namespace quadra {
namespace {

constexpr size_t kBytesOfLine = 30000;  // the reader's lines have an end

uint32_t Crc32(const std::string& bytes, uint32_t crc) {
  crc = ~crc;
  for (unsigned char byte : bytes) {
    crc ^= byte;
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

std::string Base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t j = i; j < i + 3; ++j) {
      word = word << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) {
      text += i + j > bytes.size() ? '=' : kDigits[word >> (18 - 6 * j) & 63];
    }
  }
  return text;
}

const std::vector<Json>& Items(const Json& json, const char* key) {
  static const std::vector<Json>& none = *new std::vector<Json>;
  const Json* found = json.Find(key);
  return found ? found->items : none;
}

// The bytes at [offset, size] of the pack.
Outcome Find(const Json& place, const std::string& pack, const char** data, size_t* size) {
  if (place.items.size() == 2) {
    const double offset = place.items[0].number, count = place.items[1].number;
    if (offset >= 0 && count >= 0 && offset + count <= static_cast<double>(pack.size())) {
      *data = pack.data() + static_cast<size_t>(offset);
      *size = static_cast<size_t>(count);
      return Outcome();
    }
  }
  return Outcome::Misuse("read the list of cases", "a case has no such place in the pack",
                         "use a list and a pack that were made together");
}

class Batch {
 public:
  Batch(const Arguments& arguments, const std::string& pack) : arguments_(arguments), pack_(pack) {
    const size_t slash = arguments.cases.rfind('/');
    folder_ = slash == std::string::npos ? "." : arguments.cases.substr(0, slash);
  }

  Outcome Load() { return tflite_.Load(arguments_.runtime); }

  // Prints the outputs; the rest goes into `json`.
  Outcome Run(const Json& one, uint32_t* crc, JsonWriter* json) {
    Spec spec;
    spec.model_name = "the case";
    spec.threads = 1;
    std::vector<Array> inputs;
    for (const Json& place : Items(one, "places")) {  // of the model, then of its inputs
      const char* data = nullptr;
      size_t size = 0;
      QUADRA_RETURN_IF_FAILED(Find(place, pack_, &data, &size));
      if (spec.model_data) {
        inputs.emplace_back();
        QUADRA_RETURN_IF_FAILED(ParseArray(std::string(data, size), &inputs.back()));
      } else {
        spec.model_data = data;
        spec.model_bytes = size;
      }
    }
    if (const Json* options = one.Find("options")) {
      for (const auto& option : options->members) {
        // A target is a file beside the list.
        const std::string prefix = option.first == "target" ? folder_ + "/" : "";
        spec.options.emplace_back(option.first, prefix + option.second.string);
      }
    }
    Contender quadra("quadra", tflite_);
    QUADRA_RETURN_IF_FAILED(
        quadra.Start(spec, "", spec.options, &quadra_, arguments_.quadra, inputs));
    for (const auto& lap : quadra.laps()) json->Key(lap.first).Number(lap.second);
    return PutOutputs(quadra, crc, json);
  }

 private:
  Outcome PutOutputs(const Contender& quadra, uint32_t* crc, JsonWriter* json) {
    std::vector<Tensor> tensors;
    std::vector<std::string> values;
    QUADRA_RETURN_IF_FAILED(quadra.Outputs(&tensors, &values));
    json->Key("outputs").BeginArray();
    for (size_t i = 0; i < tensors.size(); ++i) {
      PutData(values[i], crc);
      json->BeginObject().Key("dtype").Text(TypeName(tensors[i].type)).Key("shape").BeginArray();
      for (int n : tensors[i].shape) json->Number(n);
      json->EndArray().EndObject();
    }
    json->EndArray();
    PutData(quadra.Report(), crc);
    return Outcome();
  }

  static void PutData(const std::string& bytes, uint32_t* crc) {
    *crc = Crc32(bytes, *crc);
    for (size_t at = 0; at < bytes.size(); at += kBytesOfLine) {
      fprintf(stdout, "data %s\n", Base64(bytes.substr(at, kBytesOfLine)).c_str());
    }
  }

  const Arguments& arguments_;
  const std::string& pack_;
  std::string folder_;
  TfLiteApi tflite_;
  QuadraApi quadra_;
};

}  // namespace

Outcome RunBatch(const Arguments& arguments) {
  std::string text, pack;
  QUADRA_RETURN_IF_FAILED(ReadFile(arguments.cases, &text));
  QUADRA_RETURN_IF_FAILED(ReadFile(arguments.pack, &pack));
  Json list;
  const Status status = ParseJson(text, &list);
  const Json* seconds = list.Find("case_seconds");
  if (!status.ok() || !seconds || seconds->number < 1) {
    return Outcome::Misuse("read " + arguments.cases,
                           status.ok() ? "case_seconds is missing" : status.message(),
                           "use a runner and a toolkit of the same version");
  }
  Batch batch(arguments, pack);
  QUADRA_RETURN_IF_FAILED(batch.Load());
  int number = 0;
  for (const Json& one : Items(list, "cases")) {
    fprintf(stdout, "begin %d\n", number);
    fflush(stdout);
    // A case that hangs in a driver ends this process; who started it goes on with the next case.
    alarm(static_cast<unsigned>(seconds->number));
    uint32_t crc = 0;
    JsonWriter json, failed;
    const Outcome outcome = batch.Run(one, &crc, &json.BeginObject());
    failed.BeginObject().Key("error").Written(outcome.Json());
    const std::string& result = (outcome.ok() ? json : failed).EndObject().text();
    alarm(0);
    fprintf(stdout, "end %d %08x %s\n", number++, static_cast<unsigned>(Crc32(result, crc)),
            result.c_str());
    fflush(stdout);
  }
  return Outcome();
}

}  // namespace quadra
