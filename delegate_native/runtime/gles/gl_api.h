// EGL and OpenGL ES: opened at run time, every function that is used in one table.
#ifndef QUADRA_RUNTIME_GLES_GL_API_H_
#define QUADRA_RUNTIME_GLES_GL_API_H_

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl31.h>
// After the core API.
#include <GLES2/gl2ext.h>

#include <atomic>
#include <string>

#include "delegate_native/base/status.h"

namespace quadra {

#define QUADRA_EGL_FUNCTIONS(F) \
  F(BindAPI)                    \
  F(ChooseConfig)               \
  F(CreateContext)              \
  F(CreatePbufferSurface)       \
  F(DestroyContext)             \
  F(DestroySurface)             \
  F(GetCurrentContext)          \
  F(GetDisplay)                 \
  F(GetError)                   \
  F(GetProcAddress)             \
  F(Initialize)                 \
  F(MakeCurrent)                \
  F(QueryString)                \
  F(ReleaseThread)

// Null where the driver lacks them.
#define QUADRA_EGL_EXTENSIONS(F)                                \
  F(GetPlatformDisplayEXT, PFNEGLGETPLATFORMDISPLAYEXTPROC)     \
  F(QueryDevicesEXT, PFNEGLQUERYDEVICESEXTPROC)                 \
  F(QueryDeviceStringEXT, PFNEGLQUERYDEVICESTRINGEXTPROC)       \
  F(ClientWaitSyncKHR, PFNEGLCLIENTWAITSYNCKHRPROC)             \
  F(CreateSyncKHR, PFNEGLCREATESYNCKHRPROC)                     \
  F(DestroySyncKHR, PFNEGLDESTROYSYNCKHRPROC)                   \
  F(DupNativeFenceFDANDROID, PFNEGLDUPNATIVEFENCEFDANDROIDPROC) \
  F(WaitSyncKHR, PFNEGLWAITSYNCKHRPROC)

// Nothing newer than OpenGL ES 3.1.
#define QUADRA_GL_FUNCTIONS(F) \
  F(ActiveTexture)             \
  F(AttachShader)              \
  F(BeginQuery)                \
  F(BindBuffer)                \
  F(BindBufferBase)            \
  F(BindBufferRange)           \
  F(BindImageTexture)          \
  F(BindTexture)               \
  F(BufferData)                \
  F(BufferSubData)             \
  F(ClientWaitSync)            \
  F(CompileShader)             \
  F(CopyBufferSubData)         \
  F(CreateProgram)             \
  F(CreateShader)              \
  F(DeleteBuffers)             \
  F(DeleteProgram)             \
  F(DeleteQueries)             \
  F(DeleteShader)              \
  F(DeleteSync)                \
  F(DeleteTextures)            \
  F(DispatchCompute)           \
  F(EndQuery)                  \
  F(FenceSync)                 \
  F(Finish)                    \
  F(Flush)                     \
  F(GenBuffers)                \
  F(GenQueries)                \
  F(GenTextures)               \
  F(GetBufferParameteri64v)    \
  F(GetError)                  \
  F(GetInteger64v)             \
  F(GetIntegeri_v)             \
  F(GetIntegerv)               \
  F(GetProgramBinary)          \
  F(GetProgramInfoLog)         \
  F(GetProgramiv)              \
  F(GetQueryObjectuiv)         \
  F(GetShaderInfoLog)          \
  F(GetShaderiv)               \
  F(GetString)                 \
  F(GetStringi)                \
  F(IsBuffer)                  \
  F(LinkProgram)               \
  F(MapBufferRange)            \
  F(MemoryBarrier)             \
  F(ProgramBinary)             \
  F(ProgramParameteri)         \
  F(ShaderSource)              \
  F(TexParameteri)             \
  F(TexStorage2D)              \
  F(UnmapBuffer)               \
  F(UseProgram)

// OpenGL ES 3.2 or extensions, whose names end in EXT, OES or KHR; null where the driver lacks
// them, and the last where contexts do not tell of resets.
#define QUADRA_GL_EXTENSIONS(F)                 \
  F(TexBufferRange, PFNGLTEXBUFFERRANGEEXTPROC) \
  F(GetGraphicsResetStatus, PFNGLGETGRAPHICSRESETSTATUSKHRPROC)

#define QUADRA_FIELD_OF_TYPE(name, type) type name = nullptr;

struct EglApi {  // begins with the functions that must be there (FindFunctions)
#define QUADRA_EGL_FIELD(name) decltype(&::egl##name) name = nullptr;
  QUADRA_EGL_FUNCTIONS(QUADRA_EGL_FIELD)
#undef QUADRA_EGL_FIELD
  QUADRA_EGL_EXTENSIONS(QUADRA_FIELD_OF_TYPE)
};

struct GlApi {  // likewise
#define QUADRA_GL_FIELD(name) decltype(&::gl##name) name = nullptr;
  QUADRA_GL_FUNCTIONS(QUADRA_GL_FIELD)
#undef QUADRA_GL_FIELD
  QUADRA_GL_EXTENSIONS(QUADRA_FIELD_OF_TYPE)
  // Once the context is known to be lost: nothing brings it back.
  mutable std::atomic<bool> lost{false};
};
#undef QUADRA_FIELD_OF_TYPE

// `library`: a path, or empty for the usual names. The library stays open for good: drivers do not
// take being closed well.
Status LoadEglApi(const std::string& library, EglApi* api);
// With a context current: some drivers give functions to no one else.
Status LoadGlApi(const EglApi& egl, GlApi* api);

// Whether a list of words, parted by spaces, has this one.
bool HasWord(const char* words, const char* word);

// Says what was tried, what came back (the error's name), what to do next.
Status EglFailed(const EglApi& egl, const char* tried);
// Ok unless an error is pending, or the GPU was reset, which some drivers tell only when asked.
Status CheckGl(const GlApi& gl, const char* tried);
// The same of an error that GetError gave.
Status GlError(const GlApi& gl, const char* tried, GLenum code);
// The same of a call that gave nothing: never ok, even where the driver left no error.
Status GlFailed(const GlApi& gl, const char* tried);

}  // namespace quadra

#endif  // QUADRA_RUNTIME_GLES_GL_API_H_
