#include "delegate_native/kernel/dialect.h"

#include "delegate_native/base/status.h"
#include "delegate_native/kernel/prelude.h"
#include "delegate_native/kernel/renderer.h"

namespace quadra {

std::string Prelude(const Dialect& dialect) {
  if (dialect.language == Language::kGles) {
    // Extensions come before anything else.
    return std::string("#version 310 es\n") +
           (dialect.image_units > 0 ? "#extension GL_EXT_texture_buffer : require\n" : "") +
           "precision " + (dialect.precision == Precision::kF16 ? "mediump" : "highp") +
           " float;\n" + kGlesPrelude;
  }
  const bool half = dialect.precision != Precision::kF32;
  return std::string(kOpenClPrelude) + (half ? kOpenClHalfLanes : kOpenClLanes);
}

RenderedKernel Render(const KernelDesc& desc, const std::vector<TensorLayout>& layouts,
                      const Dialect& dialect, const std::string& entry) {
  if (dialect.language == Language::kOpenCl) return RenderOpenCl(desc, layouts, dialect, entry);
  return RenderGles(desc, layouts, dialect, entry);
}

}  // namespace quadra
