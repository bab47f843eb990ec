// Writes JSON: values in order, commas and escapes by itself.
#ifndef QUADRA_BASE_JSON_WRITER_H_
#define QUADRA_BASE_JSON_WRITER_H_

#include <cstdint>
#include <string>

namespace quadra {

class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }
  JsonWriter& Key(const char* name);
  JsonWriter& Text(const std::string& text);  // bytes that are not UTF-8 become '?'
  JsonWriter& Number(int64_t number);
  JsonWriter& Flag(bool flag);
  JsonWriter& Real(double number);               // not finite: null
  JsonWriter& Written(const std::string& json);  // a value that is JSON already

  const std::string& text() const { return text_; }

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  void Separate();
  void Quote(const std::string& text);

  std::string text_;
  bool comma_ = false;  // a value stands before the next one
};

}  // namespace quadra

#endif  // QUADRA_BASE_JSON_WRITER_H_
