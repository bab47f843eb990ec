#include "delegate_native/base/status.h"
#include "delegate_native/kernel/renderer.h"

namespace quadra {
namespace {

class OpenClRenderer : public Renderer {
 public:
  using Renderer::Renderer;

 protected:
  void DeclareTensor(size_t i) override {
    const TensorArg& tensor = desc_.tensors[i];
    const TensorLayout& layout = layouts_[i];
    AddArg(RenderedArg::Kind::kTensor, i, View::kMemory);
    const std::string& name = tensor.name;
    const bool read = tensor.access == Access::kRead;
    const std::string data = name + "_data";
    if (layout.kind == Kind::kDenseBuffer) {
      Parameter(std::string("__global ") + (read ? "const " : "") +
                (layout.is_int() ? "int" : "float") + "* restrict " + data);
      if (read) Define("read_" + name, "I", data + "[I]");
      else Define("write_" + name, "VALUE, I", data + "[I] = (VALUE)");
      return;
    }
    if (layout.kind == Kind::kSlicesImage2d) {
      Parameter((read ? "__read_only image2d_t " : "__write_only image2d_t ") + data);
      const std::string at = "(int2)((X), (S) * " + name + "_h + (Y))";
      const std::string kind =
          std::string(read ? "read_image" : "write_image") + (layout.is_int() ? "i" : "f");
      if (read) {
        Define("read_" + name, "X, Y, S", kind + "(" + data + ", PIXEL_SAMPLER, " + at + ")");
        DefineWalk(name, true,
                   layout.is_int() ? "read_imagei($_data, PIXEL_SAMPLER, (P))\n"
                                   : "read_imagef($_data, PIXEL_SAMPLER, (P))\n");
      } else {
        Define("write_" + name, "VALUE, X, Y, S",
               WriteText(i, kind + "(" + data + ", " + at + ", e_v);"));
      }
      return;
    }
    DeclareSlicesBuffer(i);
  }

  void DeclareSlicesBuffer(size_t i) {
    const TensorArg& tensor = desc_.tensors[i];
    const bool half = layouts_[i].half();
    const std::string& name = tensor.name;
    const std::string data = name + "_data";
    const bool read = tensor.access == Access::kRead;
    Parameter(std::string("__global ") + (read ? "const " : "") +
              (half ? "half" : TypeOf(layouts_[i])) + "* restrict " + data);
    // Row and column apart: what is known of either in a loop is found once by the compiler.
    const std::string row =
        "(" + data + " + ((S) * " + name + "_h + (Y)) * " + name + "_w" + (half ? " * 4)" : ")");
    if (read) {
      Define("read_" + name, "X, Y, S", half ? "vload_half4((X), " + row + ")" : row + "[(X)]");
      DefineWalk(name, false, half ? "vload_half4((P), $_data)\n" : "$_data[P]\n");
      DefineLanes(name, "LANES");
      return;
    }
    Define("write_" + name, "VALUE, X, Y, S",
           WriteText(i, half ? "vstore_half4(e_v, (X), " + row + ");" : row + "[(X)] = e_v;"));
    DefineLanes(name, "OUT_LANES");
  }

  void DeclareConstant(size_t i) override {
    const ConstantArg& constant = desc_.constants[i];
    const Cell cell = constant.CellOf(half_constants_);
    const bool half = cell == Cell::kHalf;
    AddArg(RenderedArg::Kind::kConstant, i, View::kMemory);
    const std::string data = constant.name + "_data";
    const std::string width = constant.width == 1 ? "" : Format("%d", constant.width);
    Parameter("__global const " +
              (half                 ? "half"
               : cell == Cell::kInt ? "int" + width
                                    : "float" + width) +
              "* restrict " + data);
    Define("read_" + constant.name, "I",
           half ? "vload_half" + width + "(I, " + data + ")" : data + "[I]");
    if (constant.width > 1) DefineLanes(constant.name, "LANES");
  }

  void DeclareNumber(const std::string& name, bool is_float) override {
    Parameter((is_float ? "float " : "int ") + name);
  }

  std::string Assemble(const std::string& entry) override {
    std::string shared;
    for (const SharedArg& s : desc_.shared) {
      shared += "__local " + s.type + " " + s.name + Format("[%d];\n", s.count);
    }
    const std::string kernel = "__kernel " + GroupText(false, out_.group) + "\nvoid " + entry +
                               "(" + parameters_ + ") {\n";
    if (desc_.outlined) {
      return macros_ + "OUTLINED void " + entry + "_body(" + parameters_ +
             ", int global_x, int global_y, int global_z) {\n" + body_ + "}\n" + kernel + entry +
             "_body(" + names_ + ", get_global_id(0)" + Base(0) + ", get_global_id(1)" + Base(1) +
             ", get_global_id(2)" + Base(2) + ");\n}\n" + undefs_;
    }
    return macros_ + kernel + "const int global_x = get_global_id(0)" + Base(0) +
           ", global_y = get_global_id(1)" + Base(1) + ", global_z = get_global_id(2)" + Base(2) +
           ";\n" + shared + body_ + "}\n" + undefs_;
  }

 private:
  // `declared` ends with the name, after a space.
  void Parameter(const std::string& declared) {
    const char* comma = parameters_.empty() ? "" : ", ";
    parameters_ += comma + declared;
    const size_t space = declared.rfind(' ');
    names_ += comma + declared.substr(space + 1);
    const std::string type = declared.substr(0, space);
    out_.types.push_back(type.substr(0, type.find(" restrict")));
  }

  void DefineLanes(const std::string& name, const char* type) {
    macros_ += "#define " + name + "_lanes ((" + type + ")" + name + "_data)\n";
    undefs_ += "#undef " + name + "_lanes\n";
  }

  std::string parameters_, names_;
};

}  // namespace

RenderedKernel RenderOpenCl(const KernelDesc& desc, const std::vector<TensorLayout>& layouts,
                            const Dialect& dialect, const std::string& entry) {
  return OpenClRenderer(desc, layouts, dialect).Run(entry);
}

}  // namespace quadra
