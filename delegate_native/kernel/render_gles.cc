#include "delegate_native/base/texts.h"
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
  using Renderer::Renderer;

 protected:
  void Declare(MemoryKind memory, bool read, const std::string& declaration) override {
    const bool image = memory != MemoryKind::kBuffer;
    int* const binding = !image                                 ? &binding_
                         : memory == MemoryKind::kImage && read ? &sampler_
                                                                : &image_;
    declarations_ += Text(declaration).Set("n", (*binding)++).str();
  }

  void DeclareNumber(const std::string& name, bool is_float) override {
    for (std::string* to : {&numbers_, &locals_}) {
      Text text(to == &numbers_ ? QUADRA_TEXT("highp ${floats:int,float} in_$name; ")
                                : QUADRA_TEXT("highp ${floats:int,float} $name = in_$name;\n"));
      *to += text.Set("floats", is_float).Set("name", name).str();
    }
  }

  std::string Assemble(const std::string&) override {
    std::string shared;
    for (const SharedArg& s : desc_.shared) {
      Text text(QUADRA_TEXT("shared $type $name[$count];\n"));
      shared += text.Set("type", s.type).Set("name", s.name).Set("count", s.count).str();
    }
    Text text(kKernel);
    text.Set("group", GroupText(true, out_.group)).Set("declarations", declarations_);
    text.Set("any", !numbers_.empty()).Set("numbers", numbers_).Set("shared", shared);
    text.Set("macros", macros_).Set("locals", locals_).Set("flat", flat_).Set("body", body_);
    return text.Set("x", Base(0)).Set("y", Base(1)).Set("z", Base(2));
  }

 private:
  std::string declarations_, numbers_;
  std::string locals_;  // numbers are read once: drivers may read a block anew at each use
  int binding_ = 0, sampler_ = 0, image_ = 0;
};

}  // namespace

RenderedKernel RenderGles(const KernelDesc& desc, const std::vector<TensorLayout>& layouts,
                          const Dialect& dialect, const std::string& entry) {
  return GlesRenderer(desc, layouts, dialect).Run(entry);
}

}  // namespace quadra
