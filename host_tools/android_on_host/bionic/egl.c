// Android's libEGL.so: the default display needs no window system. All else is what the library
// that this one is linked with has (libEGL.so.1), but for what planted.h says of OpenGL ES.
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl31.h>
#include <dlfcn.h>

#include "planted.h"

EGLDisplay eglGetDisplay(EGLNativeDisplayType native) {
  EGLDisplay (*next)(EGLNativeDisplayType) = dlsym(RTLD_NEXT, "eglGetDisplay");
  if (native != EGL_DEFAULT_DISPLAY) return next(native);
  PFNEGLGETPLATFORMDISPLAYEXTPROC platform =
      (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
  EGLDisplay display =
      platform ? platform(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, 0) : EGL_NO_DISPLAY;
  return display != EGL_NO_DISPLAY ? display : next(native);
}

typedef void (*Function)(void);

static Function next_function(const char* name) {
  static Function (*next)(const char*);
  if (!next) next = dlsym(RTLD_NEXT, "eglGetProcAddress");
  return next(name);
}

static void slow_dispatch(GLuint x, GLuint y, GLuint z) {
  static PFNGLDISPATCHCOMPUTEPROC dispatch;
  static PFNGLFINISHPROC finish;
  if (!dispatch) dispatch = (PFNGLDISPATCHCOMPUTEPROC)next_function("glDispatchCompute");
  if (!finish) finish = (PFNGLFINISHPROC)next_function("glFinish");
  const double start_s = now_s();
  dispatch(x, y, z);
  finish();
  wait_longer(planted("BIONIC_GPU_SLOW"), start_s);
}

// The same kernel is another one whenever it is compiled.
static void wrong_source(GLuint shader, GLsizei count, const GLchar* const* texts,
                         const GLint* sizes) {
  static char* chosen;
  PFNGLSHADERSOURCEPROC next = (PFNGLSHADERSOURCEPROC)next_function("glShaderSource");
  char* whole =
      count == 1 ? strndup(texts[0], sizes && sizes[0] >= 0 ? (size_t)sizes[0] : strlen(texts[0]))
                 : NULL;
  size_t size = whole ? strlen(whole) : 0;
  char* changed = NULL;
  if (whole && (!chosen || !strcmp(chosen, whole))) {
    changed = with_wrong_kernel(whole, &size, planted("BIONIC_GPU_WRONG"));
    if (changed && !chosen) chosen = strdup(whole);
  }
  const GLchar* text = changed;
  next(shader, changed ? 1 : count, changed ? &text : texts, changed ? NULL : sizes);
  free(changed);
  free(whole);
}

__eglMustCastToProperFunctionPointerType eglGetProcAddress(const char* name) {
  if (planted("BIONIC_GPU_SLOW") > 1.0 && !strcmp(name, "glDispatchCompute")) {
    return (Function)slow_dispatch;
  }
  if (planted("BIONIC_GPU_WRONG") && !strcmp(name, "glShaderSource")) return (Function)wrong_source;
  return next_function(name);
}
