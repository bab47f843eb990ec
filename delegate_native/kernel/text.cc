#include "delegate_native/kernel/text.h"

#include <cstdlib>
#include <cstring>

#include "delegate_native/base/status.h"

namespace quadra {
namespace {

// How long the name at the beginning of a text is.
size_t NameAt(const char* text) {
  size_t size = 0;
  while (text[size] >= 'a' && text[size] <= 'z') ++size;
  return size;
}

bool IsName(const char* text, const char* name) {
  const size_t size = NameAt(text);
  return size == NameAt(name) && memcmp(text, name, size) == 0;
}

}  // namespace

Text::~Text() = default;

Text& Text::Set(const char* name, const std::string& value) {
  values_.push_back({name, value});
  return *this;
}
Text& Text::Set(const char* name, const char* value) { return Set(name, std::string(value)); }
Text& Text::Set(const char* name, int number) { return Set(name, Format("%d", number)); }

std::string Text::str() {
  std::string made;
  Add(text_, End::kText, &made);
  return made;
}

// The value that was set last.
const std::string* Text::Find(const char* name) const {
  for (size_t i = values_.size(); i-- > 0;) {
    if (IsName(name, values_[i].name)) return &values_[i].text;
  }
  return nullptr;
}

// A literal number or a value; `from` moves behind it.
int Text::Number(const char** from, std::string* made) const {
  const size_t size = NameAt(*from);
  if (size == 0) return static_cast<int>(strtol(*from, const_cast<char**>(from), 10));
  const std::string* value = Find(*from);
  if (!value) made->append("$").append(*from, size);
  *from += size;
  return value ? static_cast<int>(strtol(value->c_str(), nullptr, 10)) : 1;
}

int Text::Expression(const char** from, std::string* made) const {
  int number = Number(from, made);
  while (strchr("+-*/%", **from)) {
    const char sign = *(*from)++;
    const int next = Number(from, made);
    switch (sign) {
      case '+': number += next; break;
      case '-': number -= next; break;
      case '*': number *= next; break;
      case '/': number /= next; break;
      default: number %= next;
    }
  }
  return number;
}

// `from` is behind the dollar sign.
const char* Text::AddHole(const char* from, std::string* made) {
  const bool in_braces = *from == '{';
  const char* at = from + in_braces;
  const char* const end = at + NameAt(at);
  if (!in_braces || *end == '}') {
    const std::string* value = Find(at);
    // A copy, for a loop in it adds values.
    if (value) Add(std::string(*value).c_str(), End::kText, made);
    else made->append(from - 1, end + in_braces);
    return end + in_braces;
  }
  int number = Expression(&at, made);
  if (*at == ':') {
    for (++at; number > 0; --number) at += strcspn(at, ",") + 1;
    Add(std::string(at, strcspn(at, ",}")).c_str(), End::kText, made);
  } else {
    *made += Format("%d", number);
  }
  return strchr(at, '}') + 1;
}

// Appends the text to `made`. Returns what follows.
const char* Text::Add(const char* from, End end, std::string* made) {
  while (*from) {
    if (*from++ != '$') {
      *made += from[-1];
      if (from[-1] == '\n' && end == End::kLine) break;
    } else if (IsName(from, "end")) {
      return from + 3 + (from[3] == '\n');
    } else if (IsName(from, "if") || IsName(from, "for")) {
      from = AddPart(strchr(from, '(') + 1, *from == 'f', made);
      if (end == End::kLine) break;
    } else {
      from = AddHole(from, made);
    }
  }
  return from;
}

// `from` is behind the parenthesis.
const char* Text::AddPart(const char* from, bool is_loop, std::string* made) {
  const char* const variable = from;
  if (is_loop) from += NameAt(from) + 2;
  const bool negates = *from == '!';
  if (negates) ++from;
  int times = Expression(&from, made);
  if (!is_loop) times = (times != 0) != negates;
  const End end = from[1] == '\n' ? End::kBlock : End::kLine;
  const size_t before = made->size();
  const char* next = nullptr;
  int i = 0;
  do {
    if (is_loop) values_.push_back({variable, Format("%d", i)});
    next = Add(from + 2, end, made);
    if (is_loop) values_.pop_back();
  } while (++i < times);
  if (times <= 0) made->resize(before);
  return next;
}

}  // namespace quadra
