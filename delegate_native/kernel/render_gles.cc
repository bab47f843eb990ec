#include <algorithm>
#include <cstring>

#include "delegate_native/kernel/bindings.h"
#include "delegate_native/kernel/renderer.h"
#include "delegate_native/kernel/text.h"

namespace quadra {
namespace {

// One block of numbers, four bytes each: a dispatch binds its part of a buffer instead of setting
// each. In a flat grid the place is found as a float.
constexpr const char* kKernel = QUADRA_TEXT(
    R"($group$declarations$if(any) layout(std140, binding = 0) uniform numbers { $numbers};
$shared${macros}void main() {
$locals$if(flat)
int flat_place = int(gl_GlobalInvocationID.x)$x, flat_row = int((float(flat_place) + 0.5) / float(flat_w)), global_x = flat_place - flat_row * flat_w, global_z = int((float(flat_row) + 0.5) / float(flat_h)), global_y = flat_row - global_z * flat_h;
$end
$if(!flat)
int global_x = int(gl_GlobalInvocationID.x)$x, global_y = int(gl_GlobalInvocationID.y)$y, global_z = int(gl_GlobalInvocationID.z)$z;
$end
$body}
)");

class GlesRenderer : public Renderer {
 public:
  GlesRenderer(const KernelDesc& desc, const std::vector<TensorLayout>& layouts,
               const Dialect& dialect)
      : Renderer(desc, layouts, dialect), bindings_(BindingsOf(desc, layouts, dialect)) {}

 protected:
  void DeclareTensor(size_t i) override {
    const TensorArg& tensor = desc_.tensors[i];
    const TensorLayout& layout = layouts_[i];
    const std::string& name = tensor.name;
    const bool read = tensor.access == Access::kRead;
    const View view = bindings_.tensors[i];
    AddArg(RenderedArg::Kind::kTensor, i, view);
    if (layout.kind == Kind::kSlicesImage2d) return DeclareImage(i);
    const bool dense = layout.kind == Kind::kDenseBuffer, half = layout.half();
    const char* type = dense  ? layout.is_int() ? "int" : "float"
                       : half ? "uvec2"
                              : Renderer::TypeOf(layout);
    if (view != View::kMemory) Row(name, view);
    else Block(name, type, read);
    const char* at = layout.is_bytes() ? "(I) >> 2"
                     : dense           ? "I"
                                       : "((S) * $t_h + (Y)) * $t_w + (X)";
    std::string element = Element(view, at, half, dense);
    if (layout.is_bytes()) {
      Text byte(layout.cell == Cell::kInt8 ? "bitfieldExtract($word, ((I) & 3) * 8, 8)"
                                           : "(($word >> (((I) & 3) * 8)) & 255)");
      element = byte.Set("word", element);
    }
    if (dense) {
      if (read) Define(name, "read_$t(I)", element);
      else Define(name, "write_$t(VALUE, I)", element + " = (VALUE)");
    } else if (read) {
      Define(name, "read_$t(X, Y, S)", element);
      DefineWalk(name, false, Element(view, view == View::kMemory ? "P" : "(P)", half, false));
    } else {
      const char* value =
          half ? QUADRA_TEXT("uvec2(packHalf2x16(e_v.xy), packHalf2x16(e_v.zw));") : "e_v;";
      Text store("$t_data[$at] = $value");
      Define(name, "write_$t(VALUE, X, Y, S)",
             WriteText(i, store.Set("at", at).Set("value", value)));
    }
  }

  // A constant that lies behind others in their region is read from there on.
  void DeclareConstant(size_t i) override {
    const ConstantArg& constant = desc_.constants[i];
    const View view = bindings_.constants[i];
    const Cell cell = constant.CellOf(half_constants_);
    const bool half = cell == Cell::kHalf;
    std::string owner = constant.name, index = "I";
    const std::vector<int>& joined = bindings_.joined;
    const auto at = std::find(joined.begin(), joined.end(), static_cast<int>(i));
    if (at != joined.end() && at != joined.begin()) {
      int64_t before = 0;
      for (auto j = joined.begin(); j != at; ++j)
        before += desc_.constants[static_cast<size_t>(*j)].floats / 4;
      owner = desc_.constants[static_cast<size_t>(joined[0])].name;
      index = "(I) + " + constant.name + "_first";
      DeclareInt(constant.name + "_first", static_cast<int>(before));
    } else {
      AddArg(RenderedArg::Kind::kConstant, i, view);
      if (view != View::kMemory) Row(constant.name, view);
      else Block(constant.name, half ? "uvec2" : TypeOf(cell, constant.width), true);
    }
    Define(constant.name, "read_$t(I)",
           Text(Element(view, index.c_str(), half, constant.width == 1)).Set("t", owner));
  }

  void DeclareNumber(const std::string& name, bool is_float) override {
    for (std::string* to : {&numbers_, &locals_}) {
      Text text(to == &numbers_ ? "highp ${floats:int,float} in_$name; "
                                : QUADRA_TEXT("highp ${floats:int,float} $name = in_$name;\n"));
      *to += text.Set("floats", is_float).Set("name", name).str();
    }
  }

  std::string Assemble(const std::string&) override {
    std::string shared;
    for (const SharedArg& s : desc_.shared) {
      Text text("shared $type $name[$count];\n");
      shared += text.Set("type", s.type).Set("name", s.name).Set("count", s.count).str();
    }
    Text text(kKernel);
    text.Set("group", GroupText(true, out_.group)).Set("declarations", declarations_);
    text.Set("any", !numbers_.empty()).Set("numbers", numbers_).Set("shared", shared);
    text.Set("macros", macros_).Set("locals", locals_).Set("flat", flat_).Set("body", body_);
    return text.Set("x", Base(0)).Set("y", Base(1)).Set("z", Base(2));
  }

 private:
  static const char* TypeOf(Cell cell, int width) {
    if (cell == Cell::kInt) return width == 1 ? "int" : "ivec4";
    return width == 1 ? "float" : "vec4";
  }

  void Row(const std::string& name, View view) {
    const bool ints = view == View::kTexelsInt || view == View::kTexelsInt4;
    const char* format = view == View::kTexelsFloat   ? "r32f"
                         : view == View::kTexelsInt   ? "r32i"
                         : view == View::kTexelsInt4  ? "rgba32i"
                         : view == View::kTexelsHalf4 ? "rgba16f"
                                                      : "rgba32f";
    Text text(
        QUADRA_TEXT("layout($format, binding = $n) readonly uniform highp ${ints:,i}imageBuffer "
                    "$t_data;\n"));
    text.Set("format", format).Set("n", image_++).Set("ints", ints);
    declarations_ += text.Set("t", name).str();
  }

  void Block(const std::string& name, const char* type, bool read) {
    Text text(
        QUADRA_TEXT("layout(std430, binding = $n) ${read:writeonly,readonly} buffer $t_block { "
                    "$type $t_data[]; };\n"));
    // Numbers that come in may lie beyond half's range.
    const bool in_half = read && dialect_.precision == Precision::kF16 && !strcmp(type, "float");
    text.Set("n", binding_++).Set("read", read).Set("type", in_half ? "highp float" : type);
    declarations_ += text.Set("t", name).str();
  }

  void DeclareImage(size_t i) {
    const TensorArg& tensor = desc_.tensors[i];
    const bool half = layouts_[i].half();
    const bool ints = layouts_[i].is_int(), read = tensor.access == Access::kRead;
    Text text(read
                  ? QUADRA_TEXT("layout(binding = $n) uniform highp ${ints:,i}sampler2D $t_data;\n")
                  : QUADRA_TEXT("layout($format, binding = $n) writeonly uniform highp "
                                "${ints:,i}image2D $t_data;\n"));
    text.Set("n", read ? sampler_++ : image_++).Set("ints", ints).Set("t", tensor.name);
    text.Set("format", ints ? "rgba32i" : half ? "rgba16f" : "rgba32f");
    declarations_ += text.str();
    if (read) {
      Define(tensor.name, "read_$t(X, Y, S)",
             QUADRA_TEXT("texelFetch($t_data, ivec2((X), (S) * $t_h + (Y)), 0)"));
      DefineWalk(tensor.name, true, "texelFetch($t_data, (P), 0)");
      return;
    }
    Text store(
        QUADRA_TEXT("imageStore($t_data, ivec2((X), (S) * $t_h + (Y)), "
                    "${half:e_v,half_rounded(e_v)});"));
    Define(tensor.name, "write_$t(VALUE, X, Y, S)", WriteText(i, store.Set("half", half)));
  }

  // The element at `i` of a buffer, as text. `one`: a single number.
  static std::string Element(View view, const char* i, bool half, bool one) {
    Text text(
        view != View::kMemory ? "imageLoad($t_data, $i)${one:,.x}"
        : !half || one
            ? "$t_data[$i]"
            : QUADRA_TEXT("vec4(unpackHalf2x16($t_data[$i].x), unpackHalf2x16($t_data[$i].y))"));
    return text.Set("one", one).Set("i", i);
  }

  std::string declarations_, numbers_;
  std::string locals_;  // numbers are read once: drivers may read a block anew at each use
  int binding_ = 0, sampler_ = 0, image_ = 0;
  const Bindings bindings_;
};

}  // namespace

RenderedKernel RenderGles(const KernelDesc& desc, const std::vector<TensorLayout>& layouts,
                          const Dialect& dialect, const std::string& entry) {
  return GlesRenderer(desc, layouts, dialect).Run(entry);
}

}  // namespace quadra
