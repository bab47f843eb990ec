// An OpenGL ES context of our own, and the facts about the device behind it. Everything here
// happens on the context's thread.
#ifndef QUADRA_RUNTIME_GLES_GL_CONTEXT_H_
#define QUADRA_RUNTIME_GLES_GL_CONTEXT_H_

#include <memory>
#include <string>

#include "delegate_native/base/status.h"
#include "delegate_native/device/gpu_info.h"
#include "delegate_native/runtime/backend.h"
#include "delegate_native/runtime/gles/gl_api.h"

namespace quadra {

class GlContext {
 public:
  GlContext() = default;
  ~GlContext();
  GlContext(const GlContext&) = delete;
  GlContext& operator=(const GlContext&) = delete;

  // Finds a display that gives an OpenGL ES 3.1 context and makes that current on this thread. It
  // needs no window: surfaceless where the driver can, else with a surface of one pixel. Where
  // `shared` has an EGL context, on its display, and with its objects.
  Status Open(const std::string& library, const Contexts& shared);
  // A context of this thread's on the display of another thread's, with the objects of that one.
  Status OpenBeside(const GlContext& other);
  bool is_shared() const { return shared_ != EGL_NO_CONTEXT; }
  Contexts contexts() const { return {nullptr, nullptr, nullptr, display_, context_}; }

  EglApi egl;
  GlApi gl;
  GpuInfo info;
  int uniform_alignment_bytes = 256;  // of a part of a uniform buffer
  bool has_program_binary = false;
  bool has_syncs = false;   // EGL's, which a context waits for
  bool has_fences = false;  // these as file descriptors, too

 private:
  Status OpenOn(EGLDisplay display);
  Status MakeContext(const char* extensions, bool has_minors);
  Status ChooseConfig(bool surfaceless, bool has_minors, EGLConfig* config);
  Status CheckVersion() const;
  void Close();
  void ReadInfo();

  EGLDisplay display_ = EGL_NO_DISPLAY;
  EGLContext context_ = EGL_NO_CONTEXT;
  EGLContext shared_ = EGL_NO_CONTEXT;
  EGLSurface surface_ = EGL_NO_SURFACE;
  bool tells_resets_ = false;
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_GLES_GL_CONTEXT_H_
