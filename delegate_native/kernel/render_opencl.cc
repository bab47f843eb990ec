#include "delegate_native/base/cpu_shapes.h"
#include "delegate_native/base/status.h"
#include "delegate_native/kernel/constructors.h"
#include "delegate_native/kernel/renderer.h"
#include "delegate_native/kernel/text.h"

namespace quadra {
namespace {

constexpr const char* kKernel = QUADRA_TEXT(R"(__kernel $group
void $entry($parameters) {
const int global_x = get_global_id(0)$x, global_y = get_global_id(1)$y, global_z = get_global_id(2)$z;
$shared$body}
)");
// Its body is a function of its own.
constexpr const char* kOutlined = QUADRA_CPU_TEXT(
    R"(OUTLINED void ${entry}_body($parameters, int global_x, int global_y, int global_z) {
$body}
__kernel $group
void $entry($parameters) {
${entry}_body($names, get_global_id(0)$x, get_global_id(1)$y, get_global_id(2)$z);
}
)");

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
    if (read) Define(name, "read_$t(I)", layout.is_bytes() ? "int($t_data[I])" : "$t_data[I]");
    else Define(name, "write_$t(VALUE, I)", "$t_data[I] = (VALUE)");
  }

  void DeclareImage(size_t i, const std::string& name, bool read) {
    const bool ints = layouts_[i].is_int();
    Parameter(Text(QUADRA_TEXT("__${read:write,read}_only image2d_t $t_data"))
                  .Set("read", read)
                  .Set("t", name));
    if (read) {
      Define(name, "read_$t(X, Y, S)",
             Text(QUADRA_TEXT("read_image${ints:f,i}($t_data, PIXEL_SAMPLER, "
                              "(int2)((X), (S) * $t_h + (Y)))"))
                 .Set("ints", ints));
      DefineWalk(name, true,
                 Text(QUADRA_TEXT("read_image${ints:f,i}($t_data, PIXEL_SAMPLER, (P))"))
                     .Set("ints", ints));
    } else {
      Define(name, "write_$t(VALUE, X, Y, S)",
             WriteText(i, Text(QUADRA_TEXT("write_image${ints:f,i}($t_data, (int2)((X), (S) * $t_h "
                                           "+ (Y)), ${half:e_v,half_rounded(e_v)});"))
                              .Set("ints", ints)
                              .Set("half", layouts_[i].half())));
    }
  }

  // Row and column apart: what is known of either in a loop is found once by the compiler.
  void DeclareSlicesBuffer(size_t i, const std::string& name, bool read) {
    const bool half = layouts_[i].half();
    Pointer(name, read, half ? "HALF4" : TypeOf(layouts_[i]));
    if (read) {
      Define(name, "read_$t(X, Y, S)",
             half ? QUADRA_TEXT("half4_at($t_data + ((S) * $t_h + (Y)) * $t_w, (X))")
                  : "($t_data + ((S) * $t_h + (Y)) * $t_w)[(X)]");
      DefineWalk(name, false, half ? "half4_at($t_data, (P))" : "$t_data[P]");
    } else {
      Define(name, "write_$t(VALUE, X, Y, S)",
             WriteText(
                 i, half ? QUADRA_TEXT("put_half4(e_v, $t_data + ((S) * $t_h + (Y)) * $t_w, (X));")
                         : QUADRA_TEXT("($t_data + ((S) * $t_h + (Y)) * $t_w)[(X)] = e_v;")));
      const bool row = kHasCpuShapes && Says("write_row_" + name);
      if (row || (kHasCpuShapes && Says("write_quads_" + name)))
        Define(name, "write_quads_$t(VALUE, X, Y, S)", WriteQuadsText(i));
      if (row) Define(name, "write_row_$t(Y, S)", WriteRowText(i));
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
    Define(constant.name, "read_$t(I)",
           quads  ? "half4_at($t_data, I)"
           : half ? "vload_half" + width + "(I, $t_data)"
                  : "$t_data[I]");
    if (constant.width > 1) DefineLanes(constant.name, "LANES");
  }

  void DeclareNumber(const std::string& name, bool is_float) override {
    Parameter((is_float ? "float " : "int ") + name);
  }

  std::string Assemble(const std::string& entry) override {
    std::string shared;
    for (const SharedArg& s : desc_.shared) {
      Text text("__local $type $name[$count];\n");
      shared += text.Set("type", s.type).Set("name", s.name).Set("count", s.count).str();
    }
    Text text(kHasCpuShapes && desc_.outlined ? kOutlined : kKernel);
    text.Set("entry", entry).Set("parameters", parameters_).Set("names", names_);
    text.Set("x", Base(0)).Set("y", Base(1)).Set("z", Base(2)).Set("shared", shared);
    return macros_ + text.Set("group", GroupText(false, out_.group)).Set("body", body_).str() +
           undefs_;
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
    Text text(QUADRA_TEXT("__global ${read:,const }$type* restrict $t_data"));
    Parameter(text.Set("read", read).Set("type", type).Set("t", name));
  }

  void DefineLanes(const std::string& name, const char* type) {
    if (kHasCpuShapes) Define(name, "$t_lanes", Text("(($type)$t_data)").Set("type", type));
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
