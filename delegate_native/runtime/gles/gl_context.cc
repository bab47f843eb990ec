#include "delegate_native/runtime/gles/gl_context.h"

#include <algorithm>
#include <vector>

#include "delegate_native/base/lean/clock.h"
#include "delegate_native/base/log.h"

namespace quadra {
namespace {

struct Display {
  EGLDisplay display;
  const char* how;
};

// The displays that the driver manager offers, the best first: GPUs, then whatever needs no window
// system, then the display that the system means by default, then software. A display that is open
// stays open: the application may have opened it, too, and closing it would end its contexts.
std::vector<Display> Displays(const EglApi& egl) {
  std::vector<Display> displays, software;
  const char* client = egl.QueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  egl.GetError();  // of a library that has no client extensions
  const auto add = [](std::vector<Display>* to, EGLDisplay display, const char* how) {
    if (display != EGL_NO_DISPLAY) to->push_back({display, how});
  };
#ifndef __ANDROID__
  const bool platforms = HasWord(client, "EGL_EXT_platform_base") && egl.GetPlatformDisplayEXT;
  if (platforms && HasWord(client, "EGL_EXT_platform_device") && egl.QueryDevicesEXT) {
    EGLDeviceEXT devices[16];
    EGLint count = 0;
    if (!egl.QueryDevicesEXT(16, devices, &count)) count = 0;
    for (EGLint i = 0; i < count; ++i) {
      const char* has =
          egl.QueryDeviceStringEXT ? egl.QueryDeviceStringEXT(devices[i], EGL_EXTENSIONS) : nullptr;
      add(HasWord(has, "EGL_MESA_device_software") ? &software : &displays,
          egl.GetPlatformDisplayEXT(EGL_PLATFORM_DEVICE_EXT, devices[i], nullptr), "device");
    }
  }
  if (platforms && HasWord(client, "EGL_MESA_platform_surfaceless")) {
    add(&displays,
        egl.GetPlatformDisplayEXT(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr),
        "surfaceless");
  }
#else
  static_cast<void>(client);
#endif
  add(&displays, egl.GetDisplay(EGL_DEFAULT_DISPLAY), "default");
  displays.insert(displays.end(), software.begin(), software.end());
  return displays;
}

std::string Text(const GLubyte* text) { return text ? reinterpret_cast<const char*>(text) : ""; }

}  // namespace

GlContext::~GlContext() {
  Close();
  if (egl.ReleaseThread) egl.ReleaseThread();
}

void GlContext::Close() {
  if (display_ == EGL_NO_DISPLAY) return;
  egl.MakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  if (context_ != EGL_NO_CONTEXT) egl.DestroyContext(display_, context_);
  if (surface_ != EGL_NO_SURFACE) egl.DestroySurface(display_, surface_);
  display_ = EGL_NO_DISPLAY;
  context_ = EGL_NO_CONTEXT;
  surface_ = EGL_NO_SURFACE;
  tells_resets_ = false;
}

Status GlContext::Open(const std::string& library, const Contexts& shared) {
  const int64_t start = NowUs();
  QUADRA_RETURN_IF_ERROR(LoadEglApi(library, &egl));
  shared_ = shared.egl_context;
  std::vector<Display> displays = {{shared.egl_display, "app's"}};
  if (!is_shared()) displays = Displays(egl);
  std::string tried;
  for (const Display& display : displays) {
    const Status status = OpenOn(display.display);
    if (status.ok()) {
      ReadInfo();
      Log(1, "OpenGL ES device (%s display): %s, %s: target %s", display.how,
          info.device_name.c_str(), info.api_version.c_str(), info.name.c_str());
      Log(2, "OpenGL ES ready after %lld us", static_cast<long long>(NowUs() - start));
      return status;
    }
    Close();
    tried +=
        (tried.empty() ? "" : "; ") + std::string(display.how) + " display: " + status.message();
  }
  return DeviceFailed("open an OpenGL ES 3.1 context: %s; next: %s",
                      tried.empty() ? "the EGL library offers no display" : tried.c_str(),
                      is_shared()
                          ? "give a context of OpenGL ES 3.1 with its display, or none"
                          : "install an OpenGL ES driver (Debian: libegl-mesa0 libgl1-mesa-dri)");
}

Status GlContext::OpenBeside(const GlContext& other) {
  egl = other.egl;
  shared_ = other.context_;
  return OpenOn(other.display_);
}

Status GlContext::OpenOn(EGLDisplay display) {
  EGLint major = 0, minor = 0;
  if (!egl.Initialize(display, &major, &minor)) return EglFailed(egl, "eglInitialize");
  display_ = display;
  if (!egl.BindAPI(EGL_OPENGL_ES_API)) return EglFailed(egl, "eglBindAPI(OpenGL ES)");
  const char* extensions = egl.QueryString(display, EGL_EXTENSIONS);
  has_syncs = HasWord(extensions, "EGL_KHR_fence_sync") &&
              HasWord(extensions, "EGL_KHR_wait_sync") && egl.CreateSyncKHR && egl.WaitSyncKHR;
  has_fences = has_syncs && HasWord(extensions, "EGL_ANDROID_native_fence_sync") &&
               egl.DupNativeFenceFDANDROID;
  QUADRA_RETURN_IF_ERROR(MakeContext(
      extensions, major > 1 || minor >= 5 || HasWord(extensions, "EGL_KHR_create_context")));
  if (!egl.MakeCurrent(display, surface_, surface_, context_))
    return EglFailed(egl, "eglMakeCurrent");
  QUADRA_RETURN_IF_ERROR(LoadGlApi(egl, &gl));
  return CheckVersion();
}

// Without `has_minors` the driver takes a major version only, and gives the newest that goes with
// it.
Status GlContext::MakeContext(const char* extensions, bool has_minors) {
  EGLConfig config = EGL_NO_CONFIG_KHR;
  const bool surfaceless = HasWord(extensions, "EGL_KHR_surfaceless_context");
  if (!surfaceless || !HasWord(extensions, "EGL_KHR_no_config_context")) {
    QUADRA_RETURN_IF_ERROR(ChooseConfig(surfaceless, has_minors, &config));
  }
  std::vector<EGLint> attributes = {EGL_CONTEXT_MAJOR_VERSION, 3};
  if (has_minors) attributes.insert(attributes.end(), {EGL_CONTEXT_MINOR_VERSION, 1});
  // After a reset of the GPU, an ordinary context may end the process or give any numbers.
  if (HasWord(extensions, "EGL_EXT_create_context_robustness")) {
    std::vector<EGLint> telling = attributes;
    telling.insert(telling.end(), {EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY_EXT,
                                   EGL_LOSE_CONTEXT_ON_RESET_EXT, EGL_NONE});
    context_ = egl.CreateContext(display_, config, shared_, telling.data());
    tells_resets_ = context_ != EGL_NO_CONTEXT;
  }
  if (context_ == EGL_NO_CONTEXT) {
    attributes.push_back(EGL_NONE);
    context_ = egl.CreateContext(display_, config, shared_, attributes.data());
  }
  if (context_ == EGL_NO_CONTEXT) return EglFailed(egl, "eglCreateContext(OpenGL ES 3.1)");
  if (surfaceless) return Status();
  const EGLint size[] = {EGL_WIDTH, 1, EGL_HEIGHT, 1, EGL_NONE};
  surface_ = egl.CreatePbufferSurface(display_, config, size);
  return surface_ == EGL_NO_SURFACE ? EglFailed(egl, "eglCreatePbufferSurface") : Status();
}

Status GlContext::ChooseConfig(bool surfaceless, bool has_minors, EGLConfig* config) {
  const EGLint wanted[] = {EGL_RENDERABLE_TYPE,
                           has_minors ? EGL_OPENGL_ES3_BIT_KHR : EGL_OPENGL_ES2_BIT,
                           EGL_SURFACE_TYPE, surfaceless ? 0 : EGL_PBUFFER_BIT, EGL_NONE};
  EGLint count = 0;
  if (!egl.ChooseConfig(display_, wanted, config, 1, &count))
    return EglFailed(egl, "eglChooseConfig");
  return count == 0 ? DeviceFailed("eglChooseConfig: no configuration for OpenGL ES 3") : Status();
}

Status GlContext::CheckVersion() const {
  GLint major = 0, minor = 0;
  gl.GetIntegerv(GL_MAJOR_VERSION, &major);
  gl.GetIntegerv(GL_MINOR_VERSION, &minor);
  if (major > 3 || (major == 3 && minor >= 1)) return Status();
  return DeviceFailed("the context is of version %d.%d (%s)", major, minor,
                      Text(gl.GetString(GL_VERSION)).c_str());
}

void GlContext::ReadInfo() {
  const auto number = [this](GLenum what) {
    GLint value = 0;
    gl.GetIntegerv(what, &value);
    return value;
  };
  info.api = Api::kGles;
  info.vendor = Text(gl.GetString(GL_VENDOR));
  info.device_name = Text(gl.GetString(GL_RENDERER));
  info.api_version = Text(gl.GetString(GL_VERSION));
  for (GLint i = 0; i < number(GL_NUM_EXTENSIONS); ++i) {
    info.extensions.push_back(Text(gl.GetStringi(GL_EXTENSIONS, static_cast<GLuint>(i))));
  }
  info.max_work_group_size = number(GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS);
  for (GLuint i = 0; i < 3; ++i) {
    gl.GetIntegeri_v(GL_MAX_COMPUTE_WORK_GROUP_SIZE, i, &info.max_work_group[i]);
    gl.GetIntegeri_v(GL_MAX_COMPUTE_WORK_GROUP_COUNT, i, &info.max_groups[i]);
  }
  info.supports_fp16 = true;  // as mediump
  info.local_memory_bytes = number(GL_MAX_COMPUTE_SHARED_MEMORY_SIZE);
  GLint64 block = 0;
  gl.GetInteger64v(GL_MAX_SHADER_STORAGE_BLOCK_SIZE, &block);
  info.max_buffer_bytes = block;
  info.buffer_alignment_bytes = std::max(16, number(GL_SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT));
  info.max_image2d[0] = info.max_image2d[1] = number(GL_MAX_TEXTURE_SIZE);
  info.max_storage_blocks = std::min({number(GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS),
                                      number(GL_MAX_SHADER_STORAGE_BUFFER_BINDINGS),
                                      number(GL_MAX_COMBINED_SHADER_STORAGE_BLOCKS)});
  info.max_image_units =
      std::min(number(GL_MAX_COMPUTE_IMAGE_UNIFORMS), number(GL_MAX_IMAGE_UNITS));
  info.max_output_resources = number(GL_MAX_COMBINED_SHADER_OUTPUT_RESOURCES);
  info.max_texture_units = number(GL_MAX_COMPUTE_TEXTURE_IMAGE_UNITS);
  // The kernels name the extension.
  if (info.Has("GL_EXT_texture_buffer") && gl.TexBufferRange) {
    info.max_image_buffer_width = number(GL_MAX_TEXTURE_BUFFER_SIZE_EXT);
    info.buffer_alignment_bytes =
        std::max(info.buffer_alignment_bytes, number(GL_TEXTURE_BUFFER_OFFSET_ALIGNMENT_EXT));
  }
  uniform_alignment_bytes = std::max(16, number(GL_UNIFORM_BUFFER_OFFSET_ALIGNMENT));
  if (tells_resets_) {
    const char* const names[] = {"GL_KHR_robustness", "glGetGraphicsResetStatusKHR",
                                 "GL_EXT_robustness", "glGetGraphicsResetStatusEXT"};
    for (int i = 0; i < 4 && !gl.GetGraphicsResetStatus; i += 2) {
      if (!info.Has(names[i])) continue;
      gl.GetGraphicsResetStatus =
          reinterpret_cast<decltype(gl.GetGraphicsResetStatus)>(egl.GetProcAddress(names[i + 1]));
    }
  }
  has_program_binary = number(GL_NUM_PROGRAM_BINARY_FORMATS) > 0;
  gl.GetError();  // of a driver that does not know one of these
  DecideTarget(&info);
}

}  // namespace quadra
