#include "delegate_native/graph/attributes.h"

#include <cstdlib>
#include <utility>

#include "delegate_native/base/log.h"

namespace quadra {
namespace {

[[noreturn]] void FailFor(const char* name) {
  Log(0, "attribute '%s' is read, which is not there or of another type", name);
  abort();
}

}  // namespace

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

void Attributes::SetIntsOf(const char* name, int value) {
  Make(name, Attribute::Type::kIntsOf).ints = {value};
}

void Attributes::Remove(const char* name) {
  for (size_t i = 0; i < attributes_.size(); ++i) {
    if (attributes_[i].name == name) {
      attributes_.erase(attributes_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
}

const Attribute& Attributes::Get(const char* name, Attribute::Type type) const {
  const Attribute* attribute = Find(name);
  if (!attribute || attribute->type != type) FailFor(name);
  return *attribute;
}

const std::vector<int>& Attributes::Ints(const char* name) const {
  return Get(name, Attribute::Type::kInts).ints;
}

int Attributes::Int(const char* name) const {
  const std::vector<int>& values = Ints(name);
  if (values.empty()) FailFor(name);
  return values[0];
}

const std::vector<float>& Attributes::Floats(const char* name) const {
  return Get(name, Attribute::Type::kFloats).floats;
}

float Attributes::Float(const char* name) const {
  const std::vector<float>& values = Floats(name);
  if (values.empty()) FailFor(name);
  return values[0];
}

const std::string& Attributes::Word(const char* name) const {
  return Get(name, Attribute::Type::kWord).word;
}

}  // namespace quadra
