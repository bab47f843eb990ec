// Typed attributes of a node: a small ordered table of names with integers, floats, a word, or a
// value of the graph whose integers are known once shapes are (sizes that a model computes).
// One table for all ops keeps the text form and the verifier free of per-op code.
#ifndef QUADRA_GRAPH_ATTRIBUTES_H_
#define QUADRA_GRAPH_ATTRIBUTES_H_

#include <string>
#include <vector>

namespace quadra {

struct Attribute {
  enum class Type { kInts, kFloats, kWord, kIntsOf };
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
  // The integers of a value that is constant once shapes are inferred, which puts them here.
  void SetIntsOf(const char* name, int value);
  void Remove(const char* name);

  bool Has(const char* name) const { return Find(name) != nullptr; }
  // To read what is absent, or of another type, is a mistake of ours, which ends the process by
  // name: what a node must have is known of its op and looked for in time (InferShapes).
  const std::vector<int>& Ints(const char* name) const;
  int Int(const char* name) const;
  const std::vector<float>& Floats(const char* name) const;
  float Float(const char* name) const;
  const std::string& Word(const char* name) const;
  // An optional one, and what its absence means.
  int Int(const char* name, int fallback) const { return Has(name) ? Int(name) : fallback; }

  const std::vector<Attribute>& all() const { return attributes_; }
  bool operator==(const Attributes& o) const { return attributes_ == o.attributes_; }

 private:
  const Attribute* Find(const char* name) const;
  const Attribute& Get(const char* name, Attribute::Type type) const;
  Attribute& Make(const char* name, Attribute::Type type);

  std::vector<Attribute> attributes_;
};

}  // namespace quadra

#endif  // QUADRA_GRAPH_ATTRIBUTES_H_
