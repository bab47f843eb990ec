#include "delegate_native/base/json.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace quadra {
namespace {

constexpr int kMaxDepth = 64;

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
    return;
  }
  const int extra = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  const uint32_t marks[] = {0, 0xc0, 0xe0, 0xf0};
  *out += static_cast<char>(marks[extra] | (code >> (6 * extra)));
  for (int i = extra - 1; i >= 0; --i) {
    *out += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
  }
}

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  Status Document(Json* json) {
    QUADRA_RETURN_IF_ERROR(Value(json, 0));
    Blanks();
    return at_ == text_.size() ? Status() : Expected("the end of the text");
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void Blanks() {
    while (at_ < text_.size() && strchr(" \t\r\n", text_[at_]) && text_[at_] != '\0') ++at_;
  }

  bool Take(char c) {
    Blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool TakeWord(const char* word) {
    const size_t size = strlen(word);
    if (text_.compare(at_, size, word) != 0) return false;
    at_ += size;
    return true;
  }

  Status Expected(const char* what) const {
    int line = 1, column = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) {
      if (text_[i] == '\n') ++line, column = 1;
      else ++column;
    }
    return Unsupported("not JSON: line %d, column %d: expected %s", line, column, what);
  }

  Status Value(Json* json, int depth) {
    if (depth > kMaxDepth) return Expected("less nesting");
    Blanks();
    const char c = Peek();
    if (c == '{') return Object(json, depth);
    if (c == '[') return Array(json, depth);
    if (c == '"') {
      json->type = Json::Type::kString;
      return String(&json->string);
    }
    if (c == '-' || (c >= '0' && c <= '9')) return Number(json);
    if (TakeWord("null")) return Status();
    json->type = Json::Type::kBool;
    json->boolean = c == 't';
    return TakeWord("true") || TakeWord("false") ? Status() : Expected("a value");
  }

  Status Object(Json* json, int depth) {
    json->type = Json::Type::kObject;
    Take('{');
    if (Take('}')) return Status();
    do {
      Blanks();
      const size_t start = at_;
      std::string key;
      if (Peek() != '"') return Expected("a key in double quotes");
      QUADRA_RETURN_IF_ERROR(String(&key));
      if (json->Find(key.c_str())) {
        at_ = start;
        return Expected("a key that was not there before");
      }
      if (!Take(':')) return Expected("':'");
      json->members.emplace_back(std::move(key), Json());
      QUADRA_RETURN_IF_ERROR(Value(&json->members.back().second, depth + 1));
    } while (Take(','));
    return Take('}') ? Status() : Expected("',' or '}'");
  }

  Status Array(Json* json, int depth) {
    json->type = Json::Type::kArray;
    Take('[');
    if (Take(']')) return Status();
    do {
      json->items.emplace_back();
      QUADRA_RETURN_IF_ERROR(Value(&json->items.back(), depth + 1));
    } while (Take(','));
    return Take(']') ? Status() : Expected("',' or ']'");
  }

  void Digits() {
    while (Peek() >= '0' && Peek() <= '9') ++at_;
  }

  // strtod takes more than JSON allows ("0x1", "inf"): the shape is checked first.
  Status Number(Json* json) {
    json->type = Json::Type::kNumber;
    const size_t start = at_;
    if (Peek() == '-') ++at_;
    const size_t whole = at_;
    Digits();
    if (at_ == whole || (text_[whole] == '0' && at_ > whole + 1)) {
      at_ = whole;
      return Expected("a number");
    }
    if (Peek() == '.') {
      const size_t fraction = ++at_;
      Digits();
      if (at_ == fraction) return Expected("a digit");
    }
    if (Peek() == 'e' || Peek() == 'E') {
      ++at_;
      if (Peek() == '+' || Peek() == '-') ++at_;
      const size_t exponent = at_;
      Digits();
      if (at_ == exponent) return Expected("a digit");
    }
    json->number = strtod(text_.substr(start, at_ - start).c_str(), nullptr);
    return std::isfinite(json->number) ? Status() : Expected("a number of ordinary size");
  }

  Status String(std::string* out) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      const unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c < 0x20) return Expected("an escape instead of a control character");
      if (c != '\\') {
        *out += text_[at_++];
        continue;
      }
      ++at_;
      QUADRA_RETURN_IF_ERROR(Escape(out));
    }
    if (at_ >= text_.size()) return Expected("'\"'");
    ++at_;
    return Status();
  }

  Status Escape(std::string* out) {
    const char names[] = "\"\\/bfnrt";
    const char values[] = "\"\\/\b\f\n\r\t";
    const char c = Peek();
    const char* found = c ? strchr(names, c) : nullptr;
    if (found) {
      *out += values[found - names];
      ++at_;
      return Status();
    }
    if (c != 'u') return Expected("an escape");
    uint32_t code, low;
    QUADRA_RETURN_IF_ERROR(CodeUnit(&code));
    if (code >= 0xd800 && code < 0xdc00) {  // the first half of a pair
      if (Peek() != '\\') return Expected("the second half of a surrogate pair");
      ++at_;
      if (Peek() != 'u') return Expected("the second half of a surrogate pair");
      QUADRA_RETURN_IF_ERROR(CodeUnit(&low));
      if (low < 0xdc00 || low > 0xdfff) return Expected("the second half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
      return Expected("the first half of a surrogate pair");
    }
    AppendUtf8(code, out);
    return Status();
  }

  Status CodeUnit(uint32_t* code) {
    ++at_;  // the u
    *code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = Peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return Expected("four hexadecimal digits");
      *code = *code * 16 + static_cast<uint32_t>(digit);
    }
    return Status();
  }

  const std::string& text_;
  size_t at_ = 0;
};

}  // namespace

const Json* Json::Find(const char* key) const {
  for (const auto& member : members) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

const char* TypeName(Json::Type type) {
  switch (type) {
    case Json::Type::kNull: return "null";
    case Json::Type::kBool: return "true or false";
    case Json::Type::kNumber: return "a number";
    case Json::Type::kString: return "a string";
    case Json::Type::kArray: return "a list";
    case Json::Type::kObject: return "an object";
  }
  return "?";
}

Status ParseJson(const std::string& text, Json* json) {
  *json = Json();
  return Reader(text).Document(json);
}

}  // namespace quadra
