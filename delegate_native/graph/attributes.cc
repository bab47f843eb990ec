#include "delegate_native/graph/attributes.h"

#include <utility>

namespace quadra {

const Attribute* Attributes::Find(const char* name) const {
  for (const Attribute& attribute : attributes_) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

Attribute& Attributes::Make(const char* name, Attribute::Type type) {
  Attribute* attribute = const_cast<Attribute*>(Find(name));
  if (!attribute) {
    attributes_.emplace_back();
    attribute = &attributes_.back();
    attribute->name = name;
  }
  attribute->type = type;
  return *attribute;
}

void Attributes::SetInts(const char* name, std::vector<int> values) {
  Make(name, Attribute::Type::kInts).ints = std::move(values);
}

void Attributes::SetFloats(const char* name, std::vector<float> values) {
  Make(name, Attribute::Type::kFloats).floats = std::move(values);
}

void Attributes::SetWord(const char* name, std::string value) {
  Make(name, Attribute::Type::kWord).word = std::move(value);
}

void Attributes::Remove(const char* name) {
  for (size_t i = 0; i < attributes_.size(); ++i) {
    if (attributes_[i].name == name) {
      attributes_.erase(attributes_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
}

const std::vector<int>& Attributes::Ints(const char* name) const {
  static const std::vector<int>& none = *new std::vector<int>;
  const Attribute* attribute = Find(name);
  return attribute ? attribute->ints : none;
}

int Attributes::Int(const char* name, int fallback) const {
  const std::vector<int>& values = Ints(name);
  return values.empty() ? fallback : values[0];
}

const std::vector<float>& Attributes::Floats(const char* name) const {
  static const std::vector<float>& none = *new std::vector<float>;
  const Attribute* attribute = Find(name);
  return attribute ? attribute->floats : none;
}

float Attributes::Float(const char* name, float fallback) const {
  const std::vector<float>& values = Floats(name);
  return values.empty() ? fallback : values[0];
}

const std::string& Attributes::Word(const char* name) const {
  static const std::string& none = *new std::string;
  const Attribute* attribute = Find(name);
  return attribute ? attribute->word : none;
}

}  // namespace quadra
