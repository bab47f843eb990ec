#include "delegate_native/delegate/options.h"

#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace quadra {
namespace {

enum class Kind { Word, Text, Int, Flag };

bool IsOneOf(const std::string& word, const std::string& words) {
  const std::string fenced = "|" + words + "|";
  return !word.empty() && word.find('|') == std::string::npos &&
         fenced.find("|" + word + "|") != std::string::npos;
}

Status Bad(const char* key, const std::string& value, const char* values) {
  return InvalidModel("option %s=%s: the value must be %s", key, value.c_str(), values);
}

Status Assign(const char* key, Kind kind, const char* values, const std::string& value,
              std::string* field) {
  if (kind == Kind::Word && !IsOneOf(value, values)) return Bad(key, value, values);
  *field = value;
  return Status();
}

Status Assign(const char* key, Kind, const char* values, const std::string& value, int* field) {
  // `values` is "low..high" or, for a flag, "0|1".
  char* end = nullptr;
  const long low = strtol(values, &end, 10);
  while (end && (*end == '.' || *end == '|')) ++end;
  const long high = strtol(end, nullptr, 10);
  errno = 0;
  const long number = strtol(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0' || errno != 0 || number < low || number > high) {
    return Bad(key, value, values);
  }
  *field = static_cast<int>(number);
  return Status();
}

struct Row {
  const char* name;
  const char* default_value;
};
constexpr Row kRows[] = {
#define QUADRA_OPTION(field, kind, default_value, values, help) {#field, default_value},
#include "delegate_native/delegate/options.def"
#undef QUADRA_OPTION
};

std::string KnownOptions() {
  std::string names;
  for (const Row& row : kRows) names += std::string(" ") + row.name;
  return names;
}

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string Text(const char* value) { return value; }
std::string Text(int value) { return Format("%d", value); }
bool IsGiven(const char* value) { return value != nullptr; }
bool IsGiven(int) { return true; }

}  // namespace

Status SetOption(const std::string& key, const std::string& value, Options* options) {
#define QUADRA_OPTION(field, kind, default_value, values, help) \
  if (key == #field) return Assign(#field, Kind::kind, values, value, &options->field);
#include "delegate_native/delegate/options.def"
#undef QUADRA_OPTION
  return InvalidModel("there is no option '%s'; the options are:%s", key.c_str(),
                      KnownOptions().c_str());
}

Status DefaultOptions(Options* options) {
  for (const Row& row : kRows) {
    const char* from_environment = getenv(("QUADRA_" + Upper(row.name)).c_str());
    QUADRA_RETURN_IF_ERROR(
        SetOption(row.name, from_environment ? from_environment : row.default_value, options));
  }
  return Status();
}

Status FromC(const QuadraDelegateOptions& c, Options* options) {
#define QUADRA_OPTION(field, kind, default_value, values, help)                                 \
  if (offsetof(QuadraDelegateOptions, field) + sizeof(c.field) <= c.size && IsGiven(c.field)) { \
    QUADRA_RETURN_IF_ERROR(SetOption(#field, Text(c.field), options));                          \
  }
#include "delegate_native/delegate/options.def"
#undef QUADRA_OPTION
  return Status();
}

}  // namespace quadra
