#include "delegate_native/base/json_writer.h"

#include <cmath>

#include "delegate_native/base/status.h"

namespace quadra {
namespace {

// Length of the UTF-8 sequence at `i`, 0 when it is not one.
size_t Utf8Length(const std::string& text, size_t i) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(i);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
  }
  const bool surrogate_or_long =
      (first == 0xe0 && byte(i + 1) < 0xa0) || (first == 0xed && byte(i + 1) >= 0xa0) ||
      (first == 0xf0 && byte(i + 1) < 0x90) || (first == 0xf4 && byte(i + 1) >= 0x90);
  return surrogate_or_long ? 0 : length;
}

}  // namespace

void JsonWriter::Separate() {
  if (comma_) text_ += ',';
  comma_ = true;
}

JsonWriter& JsonWriter::Open(char bracket) {
  Separate();
  text_ += bracket;
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  text_ += bracket;
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Key(const char* name) {
  Separate();
  Quote(name);
  text_ += ':';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::Text(const std::string& text) {
  Separate();
  Quote(text);
  return *this;
}

JsonWriter& JsonWriter::Number(int64_t number) {
  Separate();
  text_ += Format("%lld", static_cast<long long>(number));
  return *this;
}

JsonWriter& JsonWriter::Written(const std::string& json) {
  Separate();
  text_ += json;
  return *this;
}

JsonWriter& JsonWriter::Flag(bool flag) {
  Separate();
  text_ += flag ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::Real(double number) {
  Separate();
  text_ += std::isfinite(number) ? Format("%.9g", number) : "null";
  return *this;
}

void JsonWriter::Quote(const std::string& text) {
  text_ += '"';
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t length = Utf8Length(text, i);
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text_ += Format("\\u%04x", c);
    } else if (length == 0) {
      text_ += '?';
    } else {
      text_.append(text, i, length);
    }
    i += length ? length : 1;
  }
  text_ += '"';
}

}  // namespace quadra
