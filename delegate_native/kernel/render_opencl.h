// Renders a kernel in OpenCL C.
#ifndef QUADRA_KERNEL_RENDER_OPENCL_H_
#define QUADRA_KERNEL_RENDER_OPENCL_H_

#include <string>

#include "delegate_native/kernel/renderer.h"

namespace quadra {

class OpenClRenderer : public Renderer {
 public:
  using Renderer::Renderer;

 protected:
  void Declare(MemoryKind memory, bool read, const std::string& declaration) override;
  void DeclareNumber(const std::string& name, bool is_float) override;
  std::string Assemble(const std::string& entry) override;

  // Each is declared with its type, a space and its name.
  std::string parameters_;
};

}  // namespace quadra

#endif  // QUADRA_KERNEL_RENDER_OPENCL_H_
