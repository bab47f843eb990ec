// Buffers of OpenGL ES that keep what a partition leaves in them.
#ifndef QUADRA_RUNTIME_GLES_GL_MEMORY_H_
#define QUADRA_RUNTIME_GLES_GL_MEMORY_H_

#include <cstddef>
#include <memory>

#include "delegate_native/runtime/backend.h"
#include "delegate_native/runtime/gles/gl_device.h"

namespace quadra {

// See Backend::MakeMemory.
Status MakeGlMemory(std::shared_ptr<GlDevice> device, size_t bytes,
                    std::unique_ptr<DeviceMemory>* memory);

}  // namespace quadra

#endif  // QUADRA_RUNTIME_GLES_GL_MEMORY_H_
