#include "delegate_native/kernel/constructors.h"

#include <cctype>

namespace quadra {
namespace {

bool IsWordChar(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// vec4 and ivec16, float and int, and the type-neutral num and num4.
bool IsType(const std::string& word) {
  const size_t vec = word.find("vec");
  if (vec <= 1 && word.size() > vec + 3) return isdigit(static_cast<unsigned char>(word[vec + 3]));
  return word == "float" || word == "int" || word == "num" || word == "num4";
}

}  // namespace

std::string WithCasts(const std::string& text) {
  std::string made;
  std::string open;  // for each open parenthesis 'c' where it is a constructor's
  size_t word = std::string::npos;
  for (const char c : text) {
    if (c == '(') {
      const std::string before = word < made.size() ? made.substr(word) : "";
      open += IsType(before) ? 'c' : ' ';
      if (open.back() == 'c') made.replace(word, std::string::npos, "((" + before + ")");
    }
    if (!IsWordChar(c)) word = std::string::npos;
    else if (word == std::string::npos) word = made.size();
    made += c;
    if (c != ')' || open.empty()) continue;
    if (open.back() == 'c') made += ')';
    open.pop_back();
  }
  return made;
}

}  // namespace quadra
