// Typed attributes of a node: a small ordered table of names with integers, floats or a word.
// One table for all ops keeps the text form and the verifier free of per-op code.
#ifndef QUADRA_GRAPH_ATTRIBUTES_H_
#define QUADRA_GRAPH_ATTRIBUTES_H_

#include <string>
#include <vector>

namespace quadra {

struct Attribute {
  enum class Type { kInts, kFloats, kWord };
  std::string name;
  Type type = Type::kInts;
  std::vector<int> ints;
  std::vector<float> floats;
  std::string word;

  bool operator==(const Attribute& o) const {
    return name == o.name && type == o.type && ints == o.ints && floats == o.floats &&
           word == o.word;
  }
};

class Attributes {
 public:
  void SetInts(const char* name, std::vector<int> values);
  void SetInt(const char* name, int value) { SetInts(name, {value}); }
  void SetFloats(const char* name, std::vector<float> values);
  void SetFloat(const char* name, float value) { SetFloats(name, {value}); }
  void SetWord(const char* name, std::string value);
  void Remove(const char* name);

  bool Has(const char* name) const { return Find(name) != nullptr; }
  // An absent attribute reads as an empty list, the fallback, or the empty word.
  const std::vector<int>& Ints(const char* name) const;
  int Int(const char* name, int fallback = 0) const;
  const std::vector<float>& Floats(const char* name) const;
  float Float(const char* name, float fallback = 0.0f) const;
  const std::string& Word(const char* name) const;

  const std::vector<Attribute>& all() const { return attributes_; }
  bool operator==(const Attributes& o) const { return attributes_ == o.attributes_; }

 private:
  const Attribute* Find(const char* name) const;
  Attribute& Make(const char* name, Attribute::Type type);

  std::vector<Attribute> attributes_;
};

}  // namespace quadra

#endif  // QUADRA_GRAPH_ATTRIBUTES_H_
