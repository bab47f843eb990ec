// Android's libEGL.so: the default display needs no window system. All else is what the library
// that this one is linked with has (libEGL.so.1).
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <dlfcn.h>

EGLDisplay eglGetDisplay(EGLNativeDisplayType native) {
  EGLDisplay (*next)(EGLNativeDisplayType) = dlsym(RTLD_NEXT, "eglGetDisplay");
  if (native != EGL_DEFAULT_DISPLAY) return next(native);
  PFNEGLGETPLATFORMDISPLAYEXTPROC platform =
      (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
  EGLDisplay display =
      platform ? platform(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, 0) : EGL_NO_DISPLAY;
  return display != EGL_NO_DISPLAY ? display : next(native);
}
