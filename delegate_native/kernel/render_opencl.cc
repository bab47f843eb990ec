#include "delegate_native/kernel/render_opencl.h"

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"

namespace quadra {
namespace {

constexpr const char* kKernel = QUADRA_TEXT(R"(__kernel $group
void $entry($parameters) {
const int global_x = get_global_id(0)$x, global_y = get_global_id(1)$y, global_z = get_global_id(2)$z;
$shared$body}
)");

}  // namespace

void OpenClRenderer::Declare(MemoryKind, bool, const std::string& declaration) {
  parameters_ += (parameters_.empty() ? "" : ", ") + declaration;
}

void OpenClRenderer::DeclareNumber(const std::string& name, bool is_float) {
  Declare(MemoryKind::kBuffer, true, (is_float ? "float " : "int ") + name);
}

std::string OpenClRenderer::Assemble(const std::string& entry) {
  std::string shared;
  for (const SharedArg& s : desc_.shared) {
    Text text(QUADRA_TEXT("__local $type $name[$count];\n"));
    shared += text.Set("type", s.type).Set("name", s.name).Set("count", s.count).str();
  }
  Text text(kKernel);
  text.Set("entry", entry).Set("parameters", parameters_);
  text.Set("x", Base(0)).Set("y", Base(1)).Set("z", Base(2)).Set("shared", shared);
  return macros_ + text.Set("group", GroupText(false, out_.group)).Set("body", body_).str() +
         undefs_;
}

}  // namespace quadra
