#include "delegate_native/base/cpu_shapes.h"
#include "delegate_native/base/status.h"
#include "delegate_native/kernel/constructors.h"
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
    if (layout.kind == Kind::kSlicesImage2d) return DeclareImage(i, name, read);
    if (layout.kind == Kind::kSlicesBuffer) return DeclareSlicesBuffer(i, name, read);
    const char* const type = layout.cell == Cell::kInt8    ? "char"
                             : layout.cell == Cell::kUInt8 ? "uchar"
                             : layout.is_int()             ? "int"
                                                           : "float";
    Pointer(name, read, type);
    if (read) Define(name, "read_$(I)", layout.is_bytes() ? "int($_data[I])" : "$_data[I]");
    else Define(name, "write_$(VALUE, I)", "$_data[I] = (VALUE)");
  }

  void DeclareImage(size_t i, const std::string& name, bool read) {
    const char kind = layouts_[i].is_int() ? 'i' : 'f';
    Parameter(TextOf("__%s_only image2d_t %s_data", read ? "read" : "write", name.c_str()));
    if (read) {
      Define(name, "read_$(X, Y, S)",
             TextOf("read_image%c($_data, PIXEL_SAMPLER, (int2)((X), (S) * $_h + (Y)))", kind));
      DefineWalk(name, true, TextOf("read_image%c($_data, PIXEL_SAMPLER, (P))", kind));
    } else {
      Define(name, "write_$(VALUE, X, Y, S)",
             WriteText(i, TextOf("write_image%c($_data, (int2)((X), (S) * $_h + (Y)), %s);", kind,
                                 layouts_[i].half() ? "half_rounded(e_v)" : "e_v")));
    }
  }

  // Row and column apart: what is known of either in a loop is found once by the compiler.
  void DeclareSlicesBuffer(size_t i, const std::string& name, bool read) {
    const bool half = layouts_[i].half();
    Pointer(name, read, half ? "HALF4" : TypeOf(layouts_[i]));
    if (read) {
      Define(name, "read_$(X, Y, S)",
             half ? QUADRA_TEXT("half4_at($_data + ((S) * $_h + (Y)) * $_w, (X))")
                  : "($_data + ((S) * $_h + (Y)) * $_w)[(X)]");
      DefineWalk(name, false, half ? "half4_at($_data, (P))" : "$_data[P]");
    } else {
      Define(
          name, "write_$(VALUE, X, Y, S)",
          WriteText(i, half ? QUADRA_TEXT("put_half4(e_v, $_data + ((S) * $_h + (Y)) * $_w, (X));")
                            : QUADRA_TEXT("($_data + ((S) * $_h + (Y)) * $_w)[(X)] = e_v;")));
      const bool row = kHasCpuShapes && Says("write_row_" + name);
      if (row || (kHasCpuShapes && Says("write_quads_" + name)))
        Define(name, "write_quads_$(VALUE, X, Y, S)", WriteQuadsText(i));
      if (row) Define(name, "write_row_$(Y, S)", WriteRowText(i));
    }
    DefineLanes(name, read ? "LANES" : "OUT_LANES");
  }

  void DeclareConstant(size_t i) override {
    const ConstantArg& constant = desc_.constants[i];
    const Cell cell = constant.CellOf(half_constants_);
    const bool half = cell == Cell::kHalf;
    AddArg(RenderedArg::Kind::kConstant, i, View::kMemory);
    const std::string width = constant.width == 1 ? "" : Format("%d", constant.width);
    const bool quads = half && constant.width == 4;
    Pointer(constant.name, true,
            quads  ? "HALF4"
            : half ? "half"
                   : ((cell == Cell::kInt ? "int" : "float") + width).c_str());
    Define(constant.name, "read_$(I)",
           quads  ? "half4_at($_data, I)"
           : half ? "vload_half" + width + "(I, $_data)"
                  : "$_data[I]");
    if (constant.width > 1) DefineLanes(constant.name, "LANES");
  }

  void DeclareNumber(const std::string& name, bool is_float) override {
    Parameter((is_float ? "float " : "int ") + name);
  }

  std::string Assemble(const std::string& entry) override {
    std::string shared;
    for (const SharedArg& s : desc_.shared) {
      shared += TextOf("__local %s %s[%d];\n", s.type.c_str(), s.name.c_str(), s.count);
    }
    const std::string kernel =
        TextOf("__kernel %s\nvoid %s(%s) {\n", GroupText(false, out_.group).c_str(), entry.c_str(),
               parameters_.c_str());
    if (kHasCpuShapes && desc_.outlined) {
      return macros_ +
             TextOf("OUTLINED void %s_body(%s, int global_x, int global_y, int global_z) {\n",
                    entry.c_str(), parameters_.c_str()) +
             body_ + "}\n" + kernel +
             TextOf("%s_body(%s, get_global_id(0)%s, get_global_id(1)%s, get_global_id(2)%s);\n}\n",
                    entry.c_str(), names_.c_str(), Base(0), Base(1), Base(2)) +
             undefs_;
    }
    return macros_ + kernel +
           TextOf(
               "const int global_x = get_global_id(0)%s, global_y = get_global_id(1)%s, "
               "global_z = get_global_id(2)%s;\n",
               Base(0), Base(1), Base(2)) +
           shared + body_ + "}\n" + undefs_;
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

  void Pointer(const std::string& name, bool read, const char* type) {
    Parameter(TextOf("__global %s%s* restrict %s_data", read ? "const " : "", type, name.c_str()));
  }

  void DefineLanes(const std::string& name, const char* type) {
    if (kHasCpuShapes) Define(name, "$_lanes", Format("((%s)$_data)", type));
  }

  std::string parameters_, names_;
};

}  // namespace

RenderedKernel RenderOpenCl(const KernelDesc& desc, const std::vector<TensorLayout>& layouts,
                            const Dialect& dialect, const std::string& entry) {
  RenderedKernel kernel = OpenClRenderer(desc, layouts, dialect).Run(entry);
  kernel.source = WithCasts(kernel.source);
  return kernel;
}

}  // namespace quadra
