#include "delegate_native/delegate/options.h"

#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "delegate_native/base/ranges.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/delegate/kept_states.h"

namespace quadra {
namespace {

enum class Kind { Word, Text, Int, Flag };

// A row of options.def. Of the two fields of Options one is null, by the kind.
struct Row {
  const char* name;
  Kind kind;
  const char* default_value;
  const char* values;
  std::string Options::* text;
  int Options::* number;
  size_t c_offset;  // of its field in the C struct: a const char* or an int
};

constexpr Row MakeRow(const char* name, Kind kind, const char* default_value, const char* values,
                      std::string Options::* text, size_t c_offset) {
  return {name, kind, default_value, values, text, nullptr, c_offset};
}
constexpr Row MakeRow(const char* name, Kind kind, const char* default_value, const char* values,
                      int Options::* number, size_t c_offset) {
  return {name, kind, default_value, values, nullptr, number, c_offset};
}

constexpr Row kRows[] = {
#define QUADRA_OPTION(field, kind, default_value, values, help)                             \
  MakeRow(QUADRA_TEXT(#field), Kind::kind, QUADRA_TEXT(default_value), QUADRA_TEXT(values), \
          &Options::field, offsetof(QuadraDelegateOptions, field)),
#include "delegate_native/delegate/options.def"
#undef QUADRA_OPTION
};

constexpr char kFlags[] = "experimental_flags";
constexpr char kOldName[] = "max_partitions";
constexpr char kAnyFlags[] = "0..15";

Status Bad(const char* key, const std::string& value, const char* values) {
  return InvalidModel("option %s=%s: the value must be %s", key, value.c_str(), values);
}

// `word` itself or its number, among words like "a|b|c".
bool FindWord(const char* words, const std::string& word, std::string* found) {
  int number = 0;
  for (const char* at = words;; ++number) {
    const char* end = strchr(at, '|');
    found->assign(at, end ? static_cast<size_t>(end - at) : strlen(at));
    if (word == *found || word == Format("%d", number)) return true;
    if (!end) return false;
    at = end + 1;
  }
}

// `values` is "low..high" or, for a flag, "0|1".
bool ReadNumber(const char* values, const std::string& value, int* number) {
  char* end = nullptr;
  const long low = strtol(values, &end, 10);
  while (*end == '.' || *end == '|') ++end;
  const long high = strtol(end, nullptr, 10);
  errno = 0;
  const long read = strtol(value.c_str(), &end, 10);
  *number = static_cast<int>(read);
  // strtol skips spaces, and takes a plus.
  const bool begins = !value.empty() && (value[0] == '-' || (value[0] >= '0' && value[0] <= '9'));
  return begins && *end == '\0' && errno == 0 && read >= low && read <= high;
}

Status Assign(const Row& row, const std::string& value, Options* options) {
  if (row.number) {
    if (ReadNumber(row.values, value, &(options->*row.number))) return Status();
  } else if (row.kind == Kind::Text) {
    options->*row.text = value;
    return Status();
  } else if (FindWord(row.values, value, &(options->*row.text))) {
    return Status();
  }
  return Bad(row.name, value, row.values);
}

Status SetFlags(const std::string& value, Options* options) {
  int flags = 0;
  if (!ReadNumber(kAnyFlags, value, &flags)) return Bad(kFlags, value, kAnyFlags);
  const bool opencl = flags & 2;
  const bool gles = flags & 4;
  if (opencl && gles) {
    return InvalidModel("option %s=%s: bits 1 and 2 are set: only OpenCL, and only OpenGL ES",
                        kFlags, value.c_str());
  }
  options->quantized_models_allowed = flags & 1;
  if (opencl || gles) options->backend = opencl ? "opencl" : "gles";
  return Status();
}

std::string KnownOptions() {
  std::string names;
  for (const Row& row : kRows) names += std::string(" ") + row.name;
  return names;
}

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(toupper(static_cast<unsigned char>(c)));
  return text;
}

// Three priorities in order: "auto" ones are filled with what is left, as TFLite's delegate does.
struct Priorities {
  explicit Priorities(const Options& options)
      : all{&options.inference_priority1, &options.inference_priority2,
            &options.inference_priority3} {}

  Status Check() const {
    if (*all[0] == "auto") {
      return InvalidModel("option inference_priority1=auto: only the second and third can be");
    }
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < i; ++j) {
        if (*all[i] != "auto" && *all[j] == "auto") {
          return InvalidModel(
              "option inference_priority%d=%s: inference_priority%d before it is auto", i + 1,
              all[i]->c_str(), j + 1);
        }
        if (*all[i] != "auto" && *all[i] == *all[j]) {
          return InvalidModel("option inference_priority%d=%s: inference_priority%d is the same",
                              i + 1, all[i]->c_str(), j + 1);
        }
      }
    }
    return Status();
  }

  // At which position, from 0, precision stands. An automatic second one is latency after
  // precision, memory after latency, and precision after memory.
  int OfPrecision() const {
    for (int i = 0; i < 3; ++i) {
      if (*all[i] == "max_precision") return i;
    }
    return *all[1] == "auto" && *all[0] == "min_memory_usage" ? 1 : 2;
  }

  const std::string* all[3];
};

}  // namespace

Status SetOption(const std::string& key, const std::string& value, Options* options) {
  for (const Row& row : kRows) {
    if (key == row.name) return Assign(row, value, options);
  }
  if (key == kFlags) return SetFlags(value, options);
  if (key == kOldName) return SetOption("max_delegated_partitions", value, options);
  return InvalidModel("there is no option '%s'; the options are:%s", key.c_str(),
                      KnownOptions().c_str());
}

Status DefaultOptions(Options* options) {
  for (const Row& row : kRows) {
    const char* from_environment = getenv(("QUADRA_" + Upper(row.name)).c_str());
    QUADRA_RETURN_IF_ERROR(
        Assign(row, from_environment ? from_environment : row.default_value, options));
  }
  return Status();
}

Status FromC(const QuadraDelegateOptions& c, Options* options) {
  const char* bytes = reinterpret_cast<const char*>(&c);
  for (const Row& row : kRows) {
    const char* text = nullptr;
    int number = 0;
    if (row.c_offset + (row.text ? sizeof(text) : sizeof(number)) > c.size) continue;
    if (row.text) {
      memcpy(static_cast<void*>(&text), bytes + row.c_offset, sizeof(text));
      if (text) QUADRA_RETURN_IF_ERROR(Assign(row, text, options));
    } else {
      memcpy(&number, bytes + row.c_offset, sizeof(number));
      QUADRA_RETURN_IF_ERROR(Assign(row, Format("%d", number), options));
    }
  }
  return Status();
}

void ToC(const Options& options, QuadraDelegateOptions* c) {
  for (const Row& row : kRows) {
    if (!row.number) continue;
    memcpy(reinterpret_cast<char*>(c) + row.c_offset, &(options.*row.number), sizeof(int));
  }
}

std::string ToText(const Options& options) {
  std::string text;
  for (const Row& row : kRows) {
    if (row.text == &Options::serialization_dir || row.text == &Options::model_token) continue;
    if (row.number == &Options::cache_limit_mib) continue;
    text += Format(" %s=", row.name);
    text += row.text ? options.*row.text : Format("%d", options.*row.number);
  }
  return text;
}

Status CheckOptions(const Options& options) {
  QUADRA_RETURN_IF_ERROR(Priorities(options).Check());
  if (options.first_delegate_node_index > options.last_delegate_node_index) {
    return InvalidModel("option first_delegate_node_index=%d: last_delegate_node_index is %d",
                        options.first_delegate_node_index, options.last_delegate_node_index);
  }
  if (options.serialization_dir.empty() && !options.model_token.empty()) {
    return InvalidModel("option model_token: it needs serialization_dir");
  }
  if (options.dump_tensors && options.dump_dir.empty()) {
    return InvalidModel("option dump_tensors=1: it needs dump_dir");
  }
  if (InRanges(options.float32_nodes.c_str(), 0) < 0) {
    return Bad("float32_nodes", options.float32_nodes, "like 12-14,20");
  }
  QUADRA_RETURN_IF_ERROR(KeptStates::Check(options.states));
  // It becomes a part of a file's name.
  const std::string& token = options.model_token;
  if (token.size() > 128 || token.find('/') != std::string::npos) {
    return InvalidModel("option model_token=%s: it must have at most 128 characters and no '/'",
                        token.c_str());
  }
  return Status();
}

Precision PrecisionOf(const Options& options) {
  const std::string& word = options.precision;
  if (word == "f32") return Precision::kF32;
  if (word == "f32_f16") return Precision::kF32F16;
  if (word == "f16") return Precision::kF16;
  constexpr Precision kByPosition[] = {Precision::kF32, Precision::kF32F16, Precision::kF16};
  const int allowed = options.is_precision_loss_allowed;
  return allowed < 0 ? kByPosition[Priorities(options).OfPrecision()]
         : allowed   ? Precision::kF16
                     : Precision::kF32;
}

}  // namespace quadra
