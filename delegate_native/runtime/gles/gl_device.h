// The thread, its context and the programs made there: shared by everything that runs on OpenGL ES.
#ifndef QUADRA_RUNTIME_GLES_GL_DEVICE_H_
#define QUADRA_RUNTIME_GLES_GL_DEVICE_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include "delegate_native/runtime/gles/gl_context.h"
#include "delegate_native/runtime/gles/gl_programs.h"
#include "delegate_native/runtime/gles/gl_thread.h"

namespace quadra {

struct GlDevice {
  static std::shared_ptr<GlDevice> Make() {
    // A forked child leaves it to its parent.
    return {new GlDevice, [](GlDevice* device) {
              if (device->thread.is_here()) delete device;
            }};
  }
  ~GlDevice() {
    const Status closed = thread.Do([this] {
      programs.reset();
      context.reset();
      return Status();
    });
    static_cast<void>(closed);
  }

  Status Open(const std::string& library, const Contexts& shared) {
    return thread.Do([&] {
      context = std::make_unique<GlContext>();
      QUADRA_RETURN_IF_ERROR(context->Open(library, shared));
      programs = std::make_unique<GlPrograms>(*context);
      return Status();
    });
  }

  GlThread thread;
  // Used on the thread only, as all that follows.
  const void* owner = nullptr;  // of what is bound; null: nobody there is any more
  // How many places may be taken.
  struct Bound {
    size_t buffers = 0, textures = 1, images = 0;  // a texture is bound when it is made, too
    void Raise(const Bound& uses) {
      buffers = std::max(buffers, uses.buffers);
      textures = std::max(textures, uses.textures);
      images = std::max(images, uses.images);
    }
  };
  Bound bound;
  std::unique_ptr<GlContext> context;
  std::unique_ptr<GlPrograms> programs;
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_GLES_GL_DEVICE_H_
