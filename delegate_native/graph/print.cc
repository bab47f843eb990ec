// Graph -> text. The form is described in docs/graph_text.md; parse.cc reads it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "delegate_native/base/hash.h"
#include "delegate_native/graph/graph.h"

namespace quadra {
namespace {

constexpr size_t kShortConstant = 16;

// The shortest text that reads back as the same number.
std::string Number(float value) {
  char text[32];
  for (int digits = 6; digits <= 9; ++digits) {
    snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    if (strtof(text, nullptr) == value) break;
  }
  return text;
}

// A number that cannot be taken for an integer.
std::string Float(float value) {
  std::string text = Number(value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (char c : text) {
    const unsigned byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || c == '"' || c == '\\') {
      quoted += Format("\\x%02x", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

bool IsPlainWord(const std::string& word) {
  if (word.empty() || word == "inf" || word == "nan") return false;
  for (char c : word) {
    if (!(c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
  }
  return true;
}

std::string Text(const Attribute& attribute) {
  std::string text;
  switch (attribute.type) {
    case Attribute::Type::kWord:
      return IsPlainWord(attribute.word) ? attribute.word : Quoted(attribute.word);
    case Attribute::Type::kIntsOf: return Format("ints_of(%%%d)", attribute.ints[0]);
    case Attribute::Type::kInts:
      for (int i : attribute.ints) text += Format(text.empty() ? "%d" : " %d", i);
      return text.empty() ? "[]" : text;
    case Attribute::Type::kFloats:
      for (float f : attribute.floats) text += (text.empty() ? "" : " ") + Float(f);
      return text.empty() ? "[.]" : text;
  }
  return text;
}

std::string Text(const Attributes& attributes) {
  std::string text;
  for (const Attribute& attribute : attributes.all()) {
    text += (text.empty() ? " {" : ", ") + attribute.name + ": " + Text(attribute);
  }
  return text.empty() ? text : text + "}";
}

std::string Text(const Shape& shape, int rank) {
  // Dimensions that the rank hides are shown all the same when they say something.
  for (int a = kFirstAxis; a < 4 - rank; ++a) {
    if (shape.axis(a) != 1) rank = 4 - a;
  }
  std::string text = "[";
  for (int a = 4 - rank; a < 4; ++a) {
    text += Format(a > 4 - rank ? ",%d" : "%d", shape.axis(a));
  }
  return text + "]";
}

template <typename T>
uint32_t Bits(T number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof(bits));
  return bits;
}

std::string Number(int32_t value) { return Format("%d", value); }

template <typename T>
std::string Text(const std::vector<T>& data, bool all) {
  // As bits: NaN is NaN, and 0 is not -0.
  const auto same_bits = [&](T n) { return Bits(n) == Bits(data[0]); };
  if (data.size() > 1 && std::all_of(data.begin(), data.end(), same_bits)) {
    return "splat(" + Number(data[0]) + ")";
  }
  if (data.size() > kShortConstant && !all) {
    const uint64_t hash = Hash(data.data(), data.size() * sizeof(T));
    return Format("hash(%016llx)", static_cast<unsigned long long>(hash));
  }
  std::string text = "{";
  for (size_t i = 0; i < data.size(); ++i) text += (i ? ", " : "") + Number(data[i]);
  return text + "}";
}

enum class Numbers { kNone, kFew, kAll };  // that are shown of constants

class Printer {
 public:
  Printer(const Graph& graph, Numbers numbers)
      : graph_(graph), numbers_(numbers), shown_(graph.values.size(), false) {}

  std::string Run() {
    for (ValueId id : graph_.inputs) text_ += "input " + Declared(id) + "\n";
    for (const Node& node : graph_.nodes) Add(node);
    for (ValueId id : graph_.outputs) ShowConstant(id);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      text_ += Format(i ? ", %%%d" : "output %%%d", graph_.outputs[i]);
    }
    return text_ + (graph_.outputs.empty() ? "" : "\n");
  }

 private:
  bool Known(ValueId id) const { return id >= 0 && id < static_cast<int>(graph_.values.size()); }

  std::string Declared(ValueId id) const {
    std::string text = Format("%%%d", id);
    if (!Known(id)) return text + " []";  // wrong, but it must print to be found
    const Value& value = graph_.value(id);
    if (!value.name.empty()) text += " " + Quoted(value.name);
    if (value.element != Element::kFloat32) text += std::string(" ") + NameOf(value.element);
    return text + " " + Text(value.shape, value.rank);
  }

  // Constants stand before the node that is the first to read them.
  void ShowConstant(ValueId id) {
    if (!Known(id) || !graph_.IsConstant(id) || shown_[static_cast<size_t>(id)]) return;
    shown_[static_cast<size_t>(id)] = true;
    text_ += "const " + Declared(id);
    if (numbers_ != Numbers::kNone) {
      const quadra::Constant& constant = *graph_.value(id).constant;
      const bool all = numbers_ == Numbers::kAll;
      text_ += " = " + (IsFloat(constant.element()) ? Text(*constant.floats(), all)
                                                    : Text(constant.ints(), all));
    }
    text_ += '\n';
  }

  static std::string Call(const std::string& op, const std::vector<ValueId>& inputs, int hole,
                          const Attributes& attributes) {
    std::vector<std::string> operands(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) operands[i] = Format("%%%d", inputs[i]);
    if (hole >= 0) {
      hole = std::min(hole, static_cast<int>(operands.size()));
      operands.insert(operands.begin() + hole, "_");
    }
    std::string text = op + "(";
    for (size_t i = 0; i < operands.size(); ++i) text += (i ? ", " : "") + operands[i];
    return text + ")" + Text(attributes);
  }

  void Add(const Node& node) {
    for (ValueId id : Operands(node)) ShowConstant(id);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      text_ += (i ? ", " : "") + Declared(node.outputs[i]);
    }
    text_ += " = " + Call(node.op, node.inputs, -1, node.attributes);
    for (const FusedStep& step : node.fused) {
      text_ += " -> " + Call(step.op, step.inputs, step.operand, step.attributes);
    }
    for (size_t i = 0; i < node.sources.size(); ++i) {
      text_ += Format(i ? " %d" : " from %d", node.sources[i]);
    }
    text_ += '\n';
  }

  const Graph& graph_;
  Numbers numbers_;
  std::vector<bool> shown_;
  std::string text_;
};

}  // namespace

std::string Print(const Graph& graph, bool all_constants) {
  return Printer(graph, all_constants ? Numbers::kAll : Numbers::kFew).Run();
}

std::string PrintNodes(const Graph& graph) { return Printer(graph, Numbers::kNone).Run(); }

}  // namespace quadra
