// Libraries for phones have this instead of cpu/.
#include "delegate_native/kernel/prelude.h"
#include "delegate_native/kernel/render_opencl.h"

namespace quadra {

const char* const kOpenClWide = "";
const char* const kOpenClLanes = "";
const char* const kOpenClHalfLanes = "";
const PreludePart kWideParts[] = {{nullptr, nullptr, nullptr}};

RenderedKernel RenderOpenCl(const KernelDesc& desc, const std::vector<TensorLayout>& layouts,
                            const Dialect& dialect, const std::string& entry) {
  return OpenClRenderer(desc, layouts, dialect).Run(entry);
}

}  // namespace quadra
