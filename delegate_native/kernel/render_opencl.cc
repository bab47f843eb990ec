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
  void Declare(MemoryKind, bool, const std::string& declaration) override {
    Parameter(declaration);
  }

  void DefineWideTensor(size_t i) override {
    if (!kHasCpuShapes || layouts_[i].kind != Kind::kSlicesBuffer) return;
    const std::string& name = desc_.tensors[i].name;
    const bool read = desc_.tensors[i].access == Access::kRead, row = BodyUses("write_row_" + name);
    if (!read && (row || BodyUses("write_quads_" + name)))
      Define(name, "write_quads_$t(VALUE, X, Y, S)", WriteQuadsText(i));
    if (row) Define(name, "write_row_$t(Y, S)", WriteRowText(i));
    DefineLanes(name, read ? "LANES" : "OUT_LANES");
  }

  void DefineWideConstant(size_t i) override {
    if (kHasCpuShapes && desc_.constants[i].width > 1)
      DefineLanes(desc_.constants[i].name, "LANES");
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

  void DefineLanes(const std::string& name, const char* type) {
    Define(name, "$t_lanes", Text("(($type)$t_data)").Set("type", type));
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
