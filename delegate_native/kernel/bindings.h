// How kernels get at buffers and images, and what of the device's units that takes in OpenGL ES.
#ifndef QUADRA_KERNEL_BINDINGS_H_
#define QUADRA_KERNEL_BINDINGS_H_

#include <vector>

#include "delegate_native/kernel/dialect.h"
#include "delegate_native/kernel/kernel.h"

namespace quadra {

struct Bindings {
  // Parallel to the description's. kMemory: a storage block, or an image for what is it.
  std::vector<RenderedArg::View> tensors, constants;
  std::vector<int> joined;  // see JoinedConstants
  int storage_blocks = 0;
  int image_units = 0;
  int texture_units = 0;
};

// `layouts` runs parallel to desc.tensors.
Bindings BindingsOf(const KernelDesc& desc, const std::vector<TensorLayout>& layouts,
                    const Dialect& dialect);

// Constants (indices) that lie in one region, one after the other, so that they are one argument of
// the kernel: OpenGL ES promises four storage blocks, and a convolution is to have one to spare.
std::vector<int> JoinedConstants(const KernelDesc& desc, Language language);

}  // namespace quadra

#endif  // QUADRA_KERNEL_BINDINGS_H_
