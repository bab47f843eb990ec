#include "delegate_native/runtime/gles/gl_api.h"

#include <dlfcn.h>

#include <cstring>
#include <vector>

#include "delegate_native/base/functions.h"
#include "delegate_native/base/log.h"
#include "delegate_native/base/names.h"

namespace quadra {
namespace {

const char* const kEglLibraries[] = {"libEGL.so", "libEGL.so.1"};
// For drivers whose eglGetProcAddress knows extensions only.
const char* const kGlLibraries[] = {"libGLESv3.so", "libGLESv2.so", "libGLESv2.so.2"};

#define QUADRA_EGL_NAME(name) "egl" #name "\n"
constexpr const char* kEglNames = QUADRA_NAMES(QUADRA_EGL_FUNCTIONS(QUADRA_EGL_NAME));
#undef QUADRA_EGL_NAME
#define QUADRA_EGL_EXTENSION_NAME(name, type) "egl" #name "\n"
constexpr const char* kEglExtensionNames =
    QUADRA_NAMES(QUADRA_EGL_EXTENSIONS(QUADRA_EGL_EXTENSION_NAME));
#undef QUADRA_EGL_EXTENSION_NAME
#define QUADRA_GL_NAME(name) "gl" #name "\n"
constexpr const char* kGlNames = QUADRA_NAMES(QUADRA_GL_FUNCTIONS(QUADRA_GL_NAME));
#undef QUADRA_GL_NAME

template <typename Function, typename Symbol>
Function Cast(Symbol symbol) {
  return reinterpret_cast<Function>(symbol);
}

Status FindEglFunctions(void* library, const std::string& path, EglApi* api) {
  const std::string missing =
      FindFunctions([library](const char* name) { return dlsym(library, name); }, kEglNames, api);
  if (!missing.empty()) return DeviceFailed("%s lacks %s", path.c_str(), missing.c_str());
  FindFunctions([api](const char* name) { return Cast<void*>(api->GetProcAddress(name)); },
                kEglExtensionNames, static_cast<void*>(&api->GetPlatformDisplayEXT));
  return Status();
}

void* OpenGlLibrary() {
  for (const char* name : kGlLibraries) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

}  // namespace

Status LoadEglApi(const std::string& library, EglApi* api) {
  std::vector<std::string> paths(std::begin(kEglLibraries), std::end(kEglLibraries));
  if (!library.empty()) paths = {library};
  std::string tried;
  for (const std::string& path : paths) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    Status status;
    if (handle) {
      status = FindEglFunctions(handle, path, api);
      if (status.ok()) {
        Log(1, "EGL library: %s", path.c_str());
        return status;
      }
    }
    const char* error = handle ? nullptr : dlerror();
    tried += (tried.empty() ? "" : "; ") + (error ? std::string(error) : status.message());
  }
  return DeviceFailed(
      "open the EGL library: %s; next: install an OpenGL ES driver (Debian: libegl1 libegl-mesa0), "
      "or name the library in the option egl_library",
      tried.c_str());
}

Status LoadGlApi(const EglApi& egl, GlApi* api) {
  void* library = nullptr;
  bool opened = false;
  const auto find = [&](const char* name) -> void* {
    if (void* found = Cast<void*>(egl.GetProcAddress(name))) return found;
    if (!opened) library = OpenGlLibrary();
    opened = true;
    return library ? dlsym(library, name) : nullptr;
  };
  const std::string missing = FindFunctions(find, kGlNames, api);
  for (const char* name : {"glTexBufferRangeEXT", "glTexBufferRangeOES", "glTexBufferRange"}) {
    if (!api->TexBufferRange) api->TexBufferRange = Cast<decltype(api->TexBufferRange)>(find(name));
  }
  if (missing.empty()) return Status();
  return DeviceFailed("the OpenGL ES driver lacks %s; Quadra needs OpenGL ES 3.1", missing.c_str());
}

bool HasWord(const char* words, const char* word) {
  if (!words) return false;
  const size_t size = strlen(word);
  for (const char* at = strstr(words, word); at; at = strstr(at + size, word)) {
    if ((at == words || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0')) return true;
  }
  return false;
}

Status EglFailed(const EglApi& egl, const char* tried) {
  constexpr const char* kErrors = QUADRA_NAMES(
      "EGL_SUCCESS\nEGL_NOT_INITIALIZED\nEGL_BAD_ACCESS\nEGL_BAD_ALLOC\nEGL_BAD_ATTRIBUTE\n"
      "EGL_BAD_CONFIG\nEGL_BAD_CONTEXT\nEGL_BAD_CURRENT_SURFACE\nEGL_BAD_DISPLAY\nEGL_BAD_MATCH\n"
      "EGL_BAD_NATIVE_PIXMAP\nEGL_BAD_NATIVE_WINDOW\nEGL_BAD_PARAMETER\nEGL_BAD_SURFACE\n"
      "EGL_CONTEXT_LOST\n");
  const EGLint code = egl.GetError();
  const std::string name = NameAt(kErrors, code - EGL_SUCCESS);
  if (!name.empty()) return DeviceFailed("%s: %s", tried, name.c_str());
  return DeviceFailed("%s: EGL error 0x%x", tried, static_cast<unsigned>(code));
}

Status CheckGl(const GlApi& gl, const char* tried) {
  const GLenum code = gl.GetError();
  if (gl.GetGraphicsResetStatus && gl.GetGraphicsResetStatus() != GL_NO_ERROR) {
    gl.lost = true;
  }
  return GlError(gl, tried, code);
}

Status GlError(const GlApi& gl, const char* tried, GLenum code) {
  if (code == GL_CONTEXT_LOST_KHR) gl.lost = true;
  if (gl.lost) code = GL_CONTEXT_LOST_KHR;
  if (code == GL_NO_ERROR) return Status();
  // A context keeps one flag for each kind; a lost one answers the same for ever.
  for (int i = 0; i < 8 && gl.GetError() != GL_NO_ERROR; ++i) {
  }
  const char* name = code == GL_INVALID_ENUM        ? "GL_INVALID_ENUM"
                     : code == GL_INVALID_VALUE     ? "GL_INVALID_VALUE"
                     : code == GL_INVALID_OPERATION ? "GL_INVALID_OPERATION"
                                                    : "an unknown error";
  switch (code) {
    case GL_OUT_OF_MEMORY:
      return DeviceFailed("%s: GL_OUT_OF_MEMORY; next: precision=f32_f16 halves what is needed",
                          tried);
    case GL_CONTEXT_LOST_KHR:
      return DeviceFailed(
          "%s: GL_CONTEXT_LOST, the GPU was reset; next: make the delegate and its "
          "interpreter anew",
          tried);
    default:
      return DeviceFailed(
          "%s: %s (0x%x); next: try backend=opencl, and report this with what debug=1 prints",
          tried, name, code);
  }
}

Status GlFailed(const GlApi& gl, const char* tried) {
  QUADRA_RETURN_IF_ERROR(CheckGl(gl, tried));
  return DeviceFailed(
      "%s: the driver gave nothing and left no error; next: try backend=opencl, and "
      "report this with what debug=1 prints",
      tried);
}

}  // namespace quadra
