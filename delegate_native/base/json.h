// A small JSON reader for files that people write (target files). Strict: no comments, no trailing
// commas, no duplicate keys.
#ifndef QUADRA_BASE_JSON_H_
#define QUADRA_BASE_JSON_H_

#include <string>
#include <utility>
#include <vector>

#include "delegate_native/base/status.h"

namespace quadra {

struct Json {
  enum class Type { kNull, kBool, kNumber, kString, kArray, kObject };

  Type type = Type::kNull;
  bool boolean = false;
  double number = 0;
  std::string string;
  std::vector<Json> items;                            // of an array
  std::vector<std::pair<std::string, Json>> members;  // of an object, in the order of the text

  const Json* Find(const char* key) const;  // null when there is none
};

const char* TypeName(Json::Type type);  // "a number"

// An error says line, column and what was expected there.
Status ParseJson(const std::string& text, Json* json);

}  // namespace quadra

#endif  // QUADRA_BASE_JSON_H_
