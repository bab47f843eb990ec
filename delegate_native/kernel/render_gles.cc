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
    const std::string data = name + "_data";
    const View view = bindings_.tensors[i];
    AddArg(RenderedArg::Kind::kTensor, i, view);
    if (layout.kind == Kind::kSlicesImage2d) {
      DeclareImage(i);
      return;
    }
    const bool dense = layout.kind == Kind::kDenseBuffer;
    const char* type = dense           ? layout.is_int() ? "int" : "float"
                       : layout.half() ? "uvec2"
                                       : Renderer::TypeOf(layout);
    if (view != View::kMemory) {
      Row(name, view);
      if (dense) {
        Define("read_" + name, "I", "imageLoad(" + data + ", I).x");
      } else {
        Define("read_" + name, "X, Y, S", "imageLoad(" + data + ", " + SliceIndex(name) + ")");
        DefineWalk(name, false, "imageLoad($_data, (P))\n");
      }
      return;
    }
    Block(name, type, read);
    if (dense) {
      if (read) Define("read_" + name, "I", data + "[I]");
      else Define("write_" + name, "VALUE, I", data + "[I] = (VALUE)");
      return;
    }
    const std::string index = SliceIndex(name);
    if (read) {
      Define("read_" + name, "X, Y, S", Load(data, index, layout.half()));
      DefineWalk(name, false,
                 layout.half() ? "vec4(unpackHalf2x16($_data[P].x), unpackHalf2x16($_data[P].y))\n"
                               : "$_data[P]\n");
    } else {
      const char* value =
          layout.half() ? "uvec2(packHalf2x16(e_v.xy), packHalf2x16(e_v.zw));" : "e_v;";
      Define("write_" + name, "VALUE, X, Y, S", WriteText(i, data + "[" + index + "] = " + value));
    }
  }

  // A constant that lies behind others in their region is read from there on.
  void DeclareConstant(size_t i) override {
    const ConstantArg& constant = desc_.constants[i];
    const View view = bindings_.constants[i];
    const Cell cell = constant.CellOf(half_constants_);
    const bool half = cell == Cell::kHalf;
    std::string data = constant.name + "_data", index = "I";
    const std::vector<int>& joined = bindings_.joined;
    const auto at = std::find(joined.begin(), joined.end(), static_cast<int>(i));
    if (at != joined.end() && at != joined.begin()) {
      int64_t before = 0;
      for (auto j = joined.begin(); j != at; ++j)
        before += desc_.constants[static_cast<size_t>(*j)].floats / 4;
      data = desc_.constants[static_cast<size_t>(joined[0])].name + "_data";
      index = "(I) + " + constant.name + "_first";
      DeclareInt(constant.name + "_first", static_cast<int>(before));
    } else {
      AddArg(RenderedArg::Kind::kConstant, i, view);
      if (view != View::kMemory) Row(constant.name, view);
      else Block(constant.name, half ? "uvec2" : TypeOf(cell, constant.width), true);
    }
    const char* lanes = constant.width == 1 ? ").x" : ")";
    Define("read_" + constant.name, "I",
           view != View::kMemory ? "imageLoad(" + data + ", " + index + lanes
                                 : Load(data, index, half));
  }

  void DeclareNumber(const std::string& name, bool is_float) override {
    const std::string type = is_float ? "highp float " : "highp int ";
    numbers_ += type + "in_" + name + "; ";
    locals_ += type + name + " = in_" + name + ";\n";
  }

  std::string Assemble(const std::string&) override {
    std::string shared;
    for (const SharedArg& s : desc_.shared) {
      shared += "shared " + s.type + " " + s.name + Format("[%d];\n", s.count);
    }
    // One block, four bytes each: a dispatch binds its part of a buffer instead of setting each.
    const std::string numbers =
        numbers_.empty() ? ""
                         : "layout(std140, binding = 0) uniform numbers { " + numbers_ + "};\n";
    return GroupText(true, out_.group) + declarations_ + numbers + shared + macros_ +
           "void main() {\n" + locals_ + Place() + body_ + "}\n";
  }

 private:
  std::string Place() const {
    const std::string x = "int(gl_GlobalInvocationID.x)" + Base(0);
    if (flat_) {
      return "int flat_place = " + x +
             ", flat_row = flat_place / flat_w, "
             "global_x = flat_place - flat_row * flat_w, global_z = flat_row / flat_h, "
             "global_y = flat_row - global_z * flat_h;\n";
    }
    return "int global_x = " + x + ", global_y = int(gl_GlobalInvocationID.y)" + Base(1) +
           ", global_z = int(gl_GlobalInvocationID.z)" + Base(2) + ";\n";
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
    declarations_ += Format("layout(%s, binding = %d) readonly uniform highp %simageBuffer ",
                            format, image_++, ints ? "i" : "") +
                     name + "_data;\n";
  }

  void Block(const std::string& name, const char* type, bool read) {
    declarations_ += Format("layout(std430, binding = %d) ", binding_++) +
                     (read ? "readonly" : "writeonly") + " buffer " + name + "_block { " + type +
                     " " + name + "_data[]; };\n";
  }

  void DeclareImage(size_t i) {
    const TensorArg& tensor = desc_.tensors[i];
    const bool half = layouts_[i].half();
    const char* ints = layouts_[i].is_int() ? "i" : "";
    const std::string data = tensor.name + "_data";
    const std::string at = "ivec2((X), (S) * " + tensor.name + "_h + (Y))";
    if (tensor.access == Access::kRead) {
      declarations_ += Format("layout(binding = %d) uniform highp %ssampler2D ", sampler_++, ints) +
                       data + ";\n";
      Define("read_" + tensor.name, "X, Y, S", "texelFetch(" + data + ", " + at + ", 0)");
      DefineWalk(tensor.name, true, "texelFetch($_data, (P), 0)\n");
    } else {
      const char* format = *ints ? "rgba32i" : half ? "rgba16f" : "rgba32f";
      declarations_ += Format("layout(%s, binding = %d) writeonly uniform highp %simage2D ", format,
                              image_++, ints) +
                       data + ";\n";
      // Drivers may cut digits off instead of rounding; errors of one sign add up from layer to
      // layer.
      const bool round = half && dialect_.precision != Precision::kF16;
      const std::string value = round ? "vec4(unpackHalf2x16(packHalf2x16(e_v.xy)), "
                                        "unpackHalf2x16(packHalf2x16(e_v.zw)))"
                                      : "e_v";
      Define("write_" + tensor.name, "VALUE, X, Y, S",
             WriteText(i, "imageStore(" + data + ", " + at + ", " + value + ");"));
    }
  }

  static std::string Load(const std::string& data, const std::string& i, bool half) {
    if (!half) return data + "[" + i + "]";
    return "vec4(unpackHalf2x16(" + data + "[" + i + "].x), unpackHalf2x16(" + data + "[" + i +
           "].y))";
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
