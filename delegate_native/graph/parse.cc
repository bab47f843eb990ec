// Text -> Graph: what print.cc wrote, or what a person wrote for a test (docs/graph_text.md).
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "delegate_native/graph/graph.h"

namespace quadra {
namespace {

// Limits that keep a damaged text from asking for all memory.
constexpr int kMostValues = 1 << 18;
constexpr int64_t kMostElements = int64_t{1} << 26;

bool IsWordChar(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Numbers between -0.5 and 0.5, the same ones for the same seed everywhere.
std::vector<float> RandomFloats(int64_t count, uint64_t seed) {
  std::vector<float> data(static_cast<size_t>(count));
  uint64_t state = seed * 2862933555777941757ull + 3037000493ull;
  for (float& f : data) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    f = static_cast<float>(state >> 40) / static_cast<float>(1 << 24) - 0.5f;
  }
  return data;
}

int32_t RoundToInt(float number) {
  if (std::isnan(number)) return 0;
  const double whole = std::nearbyint(static_cast<double>(number));
  return static_cast<int32_t>(std::min(std::max(whole, double{INT32_MIN}), double{INT32_MAX}));
}

class Parser {
 public:
  Parser(const std::string& text, Graph* graph) : next_(text.c_str()), graph_(graph) {}

  Status Run() {
    while (error_.empty()) {
      Blanks();
      if (*next_ == '\n') {
        ++next_, ++line_;
      } else if (*next_ == '\0') {
        return Status();
      } else if (Line() && (Blanks(), *next_ != '\n' && *next_ != '\0')) {
        Fail("the end of the line");
      }
    }
    return InvalidModel("graph text, line %d: %s", line_, error_.c_str());
  }

 private:
  // Keeps the first error; false so that it can be returned.
  bool Error(std::string what) {
    if (error_.empty()) error_ = std::move(what);
    return false;
  }
  bool Fail(const char* expected) {
    const size_t left = strcspn(next_, "\n");
    return Error(std::string("expected ") + expected + ", found " +
                 (left ? "'" + std::string(next_, left < 24 ? left : 24) + "'" : "nothing"));
  }

  void Blanks() {
    while (*next_ == ' ' || *next_ == '\t' || *next_ == '\r') ++next_;
    if (*next_ == '#') next_ += strcspn(next_, "\n");
  }
  bool Take(const char* token) {
    Blanks();
    const size_t size = strlen(token);
    if (strncmp(next_, token, size) != 0) return false;
    if (IsWordChar(token[size - 1]) && IsWordChar(next_[size])) return false;
    next_ += size;
    return true;
  }
  bool Expect(const char* token) {
    return Take(token) || Fail((std::string("'") + token + "'").c_str());
  }
  bool Word(std::string* word) {
    Blanks();
    const char* begin = next_;
    while (IsWordChar(*next_)) ++next_;
    word->assign(begin, next_);
    return !word->empty() || Fail("a name");
  }
  bool StartsNumber() const {
    return *next_ && (strchr("-+.0123456789", *next_) || Sees("inf") || Sees("nan"));
  }
  bool Sees(const char* word) const {
    const size_t size = strlen(word);
    return strncmp(next_, word, size) == 0 && !IsWordChar(next_[size]);
  }
  bool Int(int* value) {
    Blanks();
    if (!StartsNumber()) return Fail("an integer");
    char* end = nullptr;
    errno = 0;
    const long number = strtol(next_, &end, 10);
    if (end == next_) return Fail("an integer");
    if (errno || number < INT_MIN || number > INT_MAX) return Error("an integer is too large");
    next_ = end, *value = static_cast<int>(number);
    return true;
  }
  bool Float(float* value) {
    Blanks();
    if (!StartsNumber()) return Fail("a number");
    char* end = nullptr;
    *value = strtof(next_, &end);
    if (end == next_) return Fail("a number");
    next_ = end;
    return true;
  }
  bool Quoted(std::string* text) {
    if (!Expect("\"")) return false;
    for (; *next_ != '"'; ++next_) {
      if (*next_ == '\0' || *next_ == '\n') return Error("a quoted text has no end");
      if (next_[0] == '\\' && next_[1] == 'x') {
        const char digits[3] = {next_[2], next_[2] ? next_[3] : '\0', '\0'};
        char* end = nullptr;
        const long byte = strtol(digits, &end, 16);
        if (end != digits + 2) return Fail("\\x and two hex digits");
        *text += static_cast<char>(byte);
        next_ += 3;
      } else {
        *text += *next_;
      }
    }
    ++next_;
    return true;
  }

  bool Id(ValueId* id) {
    if (!Expect("%") || !Int(id)) return false;
    return (*id >= 0 && *id < kMostValues) || Error("a value's number is out of range");
  }
  // A value that was declared before.
  bool Use(ValueId* id) {
    if (!Id(id)) return false;
    return IsDeclared(*id) || Error("%" + std::to_string(*id) + " is used before it is declared");
  }
  bool IsDeclared(ValueId id) const {
    return id < static_cast<int>(declared_.size()) && declared_[static_cast<size_t>(id)];
  }
  // %3 "name" int32 [1,8,8,4]; without a word it is float32.
  bool Declaration(ValueId* id, Value* value) {
    if (!Id(id)) return false;
    Blanks();
    if (*next_ == '"' && !Quoted(&value->name)) return false;
    for (int i = 0; i <= static_cast<int>(Element::kComplex64); ++i) {
      if (Take(NameOf(static_cast<Element>(i)))) value->element = static_cast<Element>(i);
    }
    return ShapeText(value);
  }
  bool Declare(ValueId id, Value value) {
    if (IsDeclared(id)) return Error("%" + std::to_string(id) + " is declared twice");
    const size_t size = static_cast<size_t>(id) + 1;
    if (graph_->values.size() < size) graph_->values.resize(size);
    if (declared_.size() < size) declared_.resize(size, false);
    graph_->value(id) = std::move(value);
    declared_[size - 1] = true;
    return true;
  }
  bool ShapeText(Value* value) {
    std::vector<int> dims;
    if (!Expect("[")) return false;
    while (!Take("]")) {
      if (!dims.empty() && !Expect(",")) return false;
      dims.push_back(0);
      if (!Int(&dims.back())) return false;
      if (dims.back() < 1) return Error("a dimension is less than 1");
      if (dims.size() > kMostRank) return Error("a shape has more than 6 dimensions");
    }
    value->rank = static_cast<int>(dims.size());
    value->shape = ShapeOf(dims.data(), value->rank);
    return true;
  }

  bool Line() {
    ValueId id;
    if (Take("input")) {
      Value value;
      if (!Declaration(&id, &value) || !Declare(id, std::move(value))) return false;
      graph_->inputs.push_back(id);
      return true;
    }
    if (Take("const")) return Constant();
    if (Take("output")) {
      do {
        if (!Use(&id)) return false;
        graph_->outputs.push_back(id);
      } while (Take(","));
      return true;
    }
    return NodeLine();
  }

  bool Constant() {
    ValueId id;
    Value value;
    if (!Declaration(&id, &value) || !Expect("=")) return false;
    const Shape& shape = value.shape;
    double elements = 1;
    for (int a = kFirstAxis; a < 4; ++a) elements *= shape.axis(a);
    if (elements > static_cast<double>(kMostElements)) return Error("the constant is too large");
    const int64_t count = static_cast<int64_t>(elements);
    std::vector<float> data;
    if (Take("splat")) {
      float number;
      if (!Expect("(") || !Float(&number) || !Expect(")")) return false;
      data.assign(static_cast<size_t>(count), number);
    } else if (Take("random")) {
      int seed;
      if (!Expect("(") || !Int(&seed) || !Expect(")")) return false;
      data = RandomFloats(count, static_cast<uint64_t>(seed));
    } else if (Take("hash")) {  // the numbers are gone: any others, so that the graph is whole
      std::string digits;
      if (!Expect("(") || !Word(&digits) || !Expect(")")) return false;
      data = RandomFloats(count, strtoull(digits.c_str(), nullptr, 16));
    } else if (!Floats(&data)) {
      return false;
    }
    if (static_cast<int64_t>(data.size()) != count) {
      return Error("the constant has " + std::to_string(data.size()) + " numbers, its shape " +
                   std::to_string(count));
    }
    if (IsFloat(value.element)) {
      value.constant = std::make_shared<const quadra::Constant>(std::move(data));
    } else {
      // Every int that a test writes is a float, too.
      std::vector<int32_t> ints(data.size());
      for (size_t i = 0; i < ints.size(); ++i) ints[i] = RoundToInt(data[i]);
      value.constant = std::make_shared<const quadra::Constant>(value.element, std::move(ints));
    }
    return Declare(id, std::move(value));
  }
  bool Floats(std::vector<float>* data) {
    if (!Expect("{")) return false;
    while (!Take("}")) {
      if (!data->empty() && !Expect(",")) return false;
      data->push_back(0.0f);
      if (!Float(&data->back())) return false;
    }
    return true;
  }

  // %4 [1,4,4,8] = conv2d(%0, %1) {stride: 2 2} -> add(_, %3) from 3 4
  bool NodeLine() {
    Node node;
    std::vector<Value> results;
    do {
      node.outputs.emplace_back();
      results.emplace_back();
      if (!Declaration(&node.outputs.back(), &results.back())) return false;
    } while (Take(","));
    int hole = -1;
    if (!Expect("=") || !Call(&node.op, &node.inputs, &hole, &node.attributes)) return false;
    if (hole >= 0) return Error("'_' stands only in merged steps");
    while (Take("->")) {
      FusedStep step;
      step.operand = -1;
      if (!Call(&step.op, &step.inputs, &step.operand, &step.attributes)) return false;
      if (step.operand < 0) return Error("the merged step " + step.op + " has no '_'");
      node.fused.push_back(std::move(step));
    }
    if (Take("from")) {
      do {
        node.sources.push_back(0);
        if (!Int(&node.sources.back())) return false;
        Blanks();
      } while (*next_ >= '0' && *next_ <= '9');
    }
    // Declared after its operands were read: a node cannot read its own result.
    for (size_t i = 0; i < results.size(); ++i) {
      if (!Declare(node.outputs[i], std::move(results[i]))) return false;
    }
    graph_->nodes.push_back(std::move(node));
    return true;
  }

  bool Call(std::string* op, std::vector<ValueId>* inputs, int* hole, Attributes* attributes) {
    if (!Word(op) || !Expect("(")) return false;
    for (bool first = true; !Take(")"); first = false) {
      if (!first && !Expect(",")) return false;
      if (Take("_")) {
        if (*hole >= 0) return Error("'_' stands twice");
        *hole = static_cast<int>(inputs->size());
      } else {
        inputs->push_back(-1);
        if (!Use(&inputs->back())) return false;
      }
    }
    if (!Take("{")) return true;
    for (bool first = true; !Take("}"); first = false) {
      if (!first && !Expect(",")) return false;
      if (!AttributeText(attributes)) return false;
    }
    return true;
  }

  bool AttributeText(Attributes* attributes) {
    std::string name;
    if (!Word(&name) || !Expect(":")) return false;
    if (attributes->Has(name.c_str())) return Error("attribute " + name + " stands twice");
    Blanks();
    std::string word;
    if (Take("[]")) {
      attributes->SetInts(name.c_str(), {});
    } else if (Take("[.]")) {
      attributes->SetFloats(name.c_str(), {});
    } else if (*next_ == '"') {
      if (!Quoted(&word)) return false;
      attributes->SetWord(name.c_str(), word);
    } else if (StartsNumber()) {
      return Numbers(name.c_str(), attributes);
    } else {
      if (!Word(&word)) return false;
      attributes->SetWord(name.c_str(), word);
    }
    return true;
  }
  // Integers, or floats if at least one of them is written as one.
  bool Numbers(const char* name, Attributes* attributes) {
    std::vector<int> ints;
    std::vector<float> floats;
    bool all_ints = true;
    for (Blanks(); *next_ && !strchr(",}\n", *next_); Blanks()) {
      const size_t size = strcspn(next_, " ,}\n");
      all_ints = all_ints && strspn(next_, "-0123456789") == size;
      const char* begin = next_;
      int number = 0;
      if (all_ints && !Int(&number)) return false;
      ints.push_back(number);
      next_ = begin;
      floats.push_back(0.0f);
      if (!Float(&floats.back())) return false;
    }
    if (floats.empty()) return Fail("a number");
    if (all_ints) {
      attributes->SetInts(name, std::move(ints));
    } else {
      attributes->SetFloats(name, std::move(floats));
    }
    return true;
  }

  const char* next_;
  Graph* graph_;
  int line_ = 1;
  std::string error_;
  std::vector<bool> declared_;
};

}  // namespace

Status Parse(const std::string& text, Graph* graph) {
  *graph = Graph();
  return Parser(text, graph).Run();
}

}  // namespace quadra
