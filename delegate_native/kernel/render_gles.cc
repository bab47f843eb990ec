#include <algorithm>

#include "delegate_native/base/status.h"
#include "delegate_native/kernel/bindings.h"
#include "delegate_native/kernel/renderer.h"

namespace quadra {
namespace {

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
    const char* at = layout.is_bytes() ? "(I) >> 2" : dense ? "I" : "((S) * $_h + (Y)) * $_w + (X)";
    std::string element = Element(view, at, half, dense);
    if (layout.cell == Cell::kInt8) {
      element = "bitfieldExtract(" + element + ", ((I) & 3) * 8, 8)";
    } else if (layout.cell == Cell::kUInt8) {
      element = "((" + element + " >> (((I) & 3) * 8)) & 255)";
    }
    if (dense) {
      if (read) Define(name, "read_$(I)", element);
      else Define(name, "write_$(VALUE, I)", element + " = (VALUE)");
    } else if (read) {
      Define(name, "read_$(X, Y, S)", element);
      DefineWalk(name, false, Element(view, view == View::kMemory ? "P" : "(P)", half, false));
    } else {
      const char* value =
          half ? QUADRA_TEXT("uvec2(packHalf2x16(e_v.xy), packHalf2x16(e_v.zw));") : "e_v;";
      Define(name, "write_$(VALUE, X, Y, S)", WriteText(i, Format("$_data[%s] = %s", at, value)));
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
    Define(constant.name, "read_$(I)",
           Named(Element(view, index.c_str(), half, constant.width == 1), owner));
  }

  void DeclareNumber(const std::string& name, bool is_float) override {
    const char* type = is_float ? "float" : "int";
    numbers_ += TextOf("highp %s in_%s; ", type, name.c_str());
    locals_ += TextOf("highp %s %s = in_%s;\n", type, name.c_str(), name.c_str());
  }

  std::string Assemble(const std::string&) override {
    std::string shared;
    for (const SharedArg& s : desc_.shared) {
      shared += TextOf("shared %s %s[%d];\n", s.type.c_str(), s.name.c_str(), s.count);
    }
    // One block, four bytes each: a dispatch binds its part of a buffer instead of setting each.
    const std::string numbers =
        numbers_.empty()
            ? ""
            : TextOf("layout(std140, binding = 0) uniform numbers { %s};\n", numbers_.c_str());
    return GroupText(true, out_.group) + declarations_ + numbers + shared + macros_ +
           "void main() {\n" + locals_ + Place() + body_ + "}\n";
  }

 private:
  std::string Place() const {
    if (flat_) {
      return TextOf(
          "int flat_place = int(gl_GlobalInvocationID.x)%s, "
          "flat_row = int((float(flat_place) + 0.5) / float(flat_w)), "
          "global_x = flat_place - flat_row * flat_w, "
          "global_z = int((float(flat_row) + 0.5) / float(flat_h)), "
          "global_y = flat_row - global_z * flat_h;\n",
          Base(0));
    }
    return TextOf(
        "int global_x = int(gl_GlobalInvocationID.x)%s, global_y = int(gl_GlobalInvocationID.y)%s, "
        "global_z = int(gl_GlobalInvocationID.z)%s;\n",
        Base(0), Base(1), Base(2));
  }

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
    Declare(name, TextOf("layout(%s, binding = %d) readonly uniform highp %simageBuffer $_data;\n",
                         format, image_++, ints ? "i" : ""));
  }

  void Block(const std::string& name, const char* type, bool read) {
    Declare(name, TextOf("layout(std430, binding = %d) %s buffer $_block { %s $_data[]; };\n",
                         binding_++, read ? "readonly" : "writeonly", type));
  }

  void Declare(const std::string& name, const std::string& text) {
    declarations_ += Named(text, name);
  }

  void DeclareImage(size_t i) {
    const TensorArg& tensor = desc_.tensors[i];
    const bool half = layouts_[i].half();
    const char* ints = layouts_[i].is_int() ? "i" : "";
    if (tensor.access == Access::kRead) {
      Declare(tensor.name,
              TextOf("layout(binding = %d) uniform highp %ssampler2D $_data;\n", sampler_++, ints));
      Define(tensor.name, "read_$(X, Y, S)",
             QUADRA_TEXT("texelFetch($_data, ivec2((X), (S) * $_h + (Y)), 0)"));
      DefineWalk(tensor.name, true, "texelFetch($_data, (P), 0)");
      return;
    }
    const char* format = *ints ? "rgba32i" : half ? "rgba16f" : "rgba32f";
    Declare(tensor.name,
            TextOf("layout(%s, binding = %d) writeonly uniform highp %simage2D $_data;\n", format,
                   image_++, ints));
    const char* value = half ? "half_rounded(e_v)" : "e_v";
    Define(tensor.name, "write_$(VALUE, X, Y, S)",
           WriteText(i, TextOf("imageStore($_data, ivec2((X), (S) * $_h + (Y)), %s);", value)));
  }

  // The element at `i` of a buffer, as text. `one`: a single number.
  static std::string Element(View view, const char* i, bool half, bool one) {
    if (view != View::kMemory)
      return Format(one ? "imageLoad($_data, %s).x" : "imageLoad($_data, %s)", i);
    if (!half || one) return Format("$_data[%s]", i);
    return TextOf("vec4(unpackHalf2x16($_data[%s].x), unpackHalf2x16($_data[%s].y))", i, i);
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
