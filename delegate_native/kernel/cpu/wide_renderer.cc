// Kernels of wide vectors: the words with which their bodies reach single channels and write four
// pixels at once, and bodies that are functions of their own.
#include <algorithm>
#include <cctype>
#include <utility>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/render_opencl.h"
#include "delegate_native/kernel/text.h"

namespace quadra {
namespace {

// Its body is a function of its own.
constexpr const char* kOutlined = QUADRA_TEXT(
    R"(OUTLINED void ${entry}_body($parameters, int global_x, int global_y, int global_z) {
$body}
__kernel $group
void $entry($parameters) {
${entry}_body($names, get_global_id(0)$x, get_global_id(1)$y, get_global_id(2)$z);
}
)");

class WideRenderer : public OpenClRenderer {
 public:
  using OpenClRenderer::OpenClRenderer;

 protected:
  void DeclareTensor(size_t i) override {
    OpenClRenderer::DeclareTensor(i);
    if (layouts_[i].kind != Kind::kSlicesBuffer || layouts_[i].is_scattered()) return;
    const std::string& name = desc_.tensors[i].name;
    const bool is_view = layouts_[i].is_view;
    if (desc_.tensors[i].access == Access::kRead) return DefineLanes(name, "LANES", is_view);
    const bool row = BodyUses("write_row_" + name);
    if (row || BodyUses("write_quads_" + name))
      Define(name, "write_quads_$t(VALUE, X, Y, S)", WriteQuadsText(i));
    if (row) Define(name, "write_row_$t(Y, S)", WriteRowText(i));
    DefineLanes(name, "OUT_LANES", is_view);
  }

  void DeclareConstant(size_t i) override {
    OpenClRenderer::DeclareConstant(i);
    if (desc_.constants[i].width > 1) DefineLanes(desc_.constants[i].name, "LANES", false);
  }

  std::string Assemble(const std::string& entry) override {
    if (!desc_.outlined) return OpenClRenderer::Assemble(entry);
    std::string names;
    std::vector<std::string> types;
    for (size_t at = 0; at < parameters_.size();) {
      const size_t end = std::min(parameters_.find(", ", at), parameters_.size());
      const std::string declared = parameters_.substr(at, end - at);
      const size_t space = declared.rfind(' ');
      names += (at == 0 ? "" : ", ") + declared.substr(space + 1);
      const std::string type = declared.substr(0, space);
      types.push_back(type.substr(0, type.find(" restrict")));
      at = end + 2;
    }
    // A common entry point knows neither groups nor where a part of a grid begins.
    const bool is_part = out_.base_arg[0] >= 0 || out_.base_arg[1] >= 0 || out_.base_arg[2] >= 0;
    if (!is_part && ItemsOf(out_.group) == 1) out_.types = std::move(types);
    Text text(kOutlined);
    text.Set("entry", entry).Set("parameters", parameters_).Set("names", names);
    text.Set("x", Base(0)).Set("y", Base(1)).Set("z", Base(2));
    return macros_ + text.Set("group", GroupText(false, out_.group)).Set("body", body_).str() +
           undefs_;
  }

 private:
  // Whether a program's pointers are to halfs.
  bool HalfLanes() const { return StoresHalf(dialect_.precision); }

  void DefineLanes(const std::string& name, const char* type, bool is_view) {
    Text text("(($type)$t_data${view:, + $t_begin * 4})");
    Define(name, "$t_lanes", text.Set("type", type).Set("view", is_view));
  }

  // The statement behind write_quads_$t, for a tensor of floats in a buffer.
  std::string WriteQuadsText(size_t tensor) const;
  // Behind write_row_$t: what the merged steps read and compute, for a row of pixels.
  std::string WriteRowText(size_t tensor) const;
  // Whether the merged steps of this tensor can run on a vec16.
  bool RunsWide(size_t tensor) const;
  std::string WideSteps(size_t tensor) const;
  // Four pixels of an operand that the steps read at a place; nothing where that is not known.
  std::string WideRead(const std::string& tensor, const std::string& place) const;
};

// The same for the four pixels of a vec16. Nothing where a step has words that are not known to
// mean the same there, or an operand that is neither as large as the result nor one pixel.
std::string WideRenderer::WideSteps(size_t tensor) const {
  const std::string steps = StepsOf(tensor);
  std::string wide;
  for (size_t at = 0; at < steps.size();) {
    size_t end = at;
    const bool number = isdigit(static_cast<unsigned char>(steps[at]));
    while (end < steps.size() && (IsWordChar(steps[end]) || (number && steps[end] == '.'))) ++end;
    const std::string word = steps.substr(at, end - at);
    at = end;
    if (word.empty()) {
      if (steps[at] == '.' || steps[at] == '{') return "";
      wide += steps[at++];
    } else if (word == "vec4") {
      wide += "vec16";
    } else if (word == "to_float") {
      wide += "convert_float16";
    } else if (word == "above" || word == "below" || word == "bounded" || word == "requantize") {
      wide += "wide_" + word;
    } else if (word.compare(0, 5, "read_") == 0) {
      const size_t close = steps.find(')', at);
      const std::string name = word.substr(5);
      const std::string read = WideRead(name, steps.substr(at, close + 1 - at));
      if (read.empty()) return "";
      wide += Text(read).Set("t", name).str();
      at = close + 1;
    } else if (number || word == "e_v" || word == "max" || word == "min" || word == "sqrt" ||
               (word[0] == 'e' && isdigit(static_cast<unsigned char>(word[1])))) {
      wide += word;
    } else {
      return "";
    }
  }
  return wide + " ";
}

std::string WideRenderer::WideRead(const std::string& name, const std::string& place) const {
  size_t i = 0;
  while (desc_.tensors[i].name != name) ++i;
  if (layouts_[i].kind == Kind::kDenseBuffer || layouts_[i].is_scattered()) return "";
  const bool all = place == "(e_x, e_y, e_s)";
  if (layouts_[i].is_int()) {
    return all ? QUADRA_TEXT("vload16(0, (__global const int*)$t_data + e_at)") : "";
  }
  if (layouts_[i].half() != HalfLanes()) return "";
  if (all) return "quads_at($t_lanes + e_at)";
  return place == "(0, 0, e_s)" ? "four_of(read_$t(0, 0, e_s))" : "";
}

bool WideRenderer::RunsWide(size_t index) const {
  const TensorLayout& layout = layouts_[index];
  if (layout.is_int() || layout.half() != HalfLanes()) return false;
  return !HasSteps(index) || !WideSteps(index).empty();
}

std::string WideRenderer::WriteRowText(size_t index) const {
  const bool wide = RunsWide(index);
  Text text(
      QUADRA_TEXT("{ int e_row = 0; ${wide}for (; e_row < $t_w; ++e_row) "
                  "write_$t($type(0), e_row, (Y), (S)) }"));
  text.Set("wide", wide ? QUADRA_TEXT("for (; e_row + 4 <= $t_w; e_row += 4) "
                                      "write_quads_$t((vec16)(0.0f), e_row, (Y), (S)) ")
                        : "");
  return text.Set("type", TypeOf(layouts_[index]));
}

std::string WideRenderer::WriteQuadsText(size_t index) const {
  const std::string steps = HasSteps(index) ? WideSteps(index) : "";
  if (HasSteps(index) && !RunsWide(index)) {
    return QUADRA_TEXT(
        "{ vec16 e_quads = (VALUE); for (int e_i = 0; e_i < 4; ++e_i) { "
        "write_$t(((vec4*)&e_quads)[e_i], (X) + e_i, (Y), (S)) } }");
  }
  const std::string lanes = CountLanes(index);
  Text text(
      QUADRA_TEXT("{ vec16 e_v = (VALUE); int e_s = (S); "
                  "int e_at = ((e_s * $t_h + (Y)) * $t_w + (X)) * 4; "
                  "$steps${zeros}put_quads(e_v, $t_lanes + e_at); }"));
  text.Set("steps", steps).Set("lanes", lanes);
  return text.Set("zeros", lanes.empty() ? ""
                                         : QUADRA_TEXT("${lanes}if (e_c < 4) { e_v = "
                                                       "wide_with_zeros_from(e_v, e_c); } "));
}

}  // namespace

RenderedKernel RenderOpenCl(const KernelDesc& desc, const std::vector<TensorLayout>& layouts,
                            const Dialect& dialect, const std::string& entry) {
  return WideRenderer(desc, layouts, dialect).Run(entry);
}

}  // namespace quadra
