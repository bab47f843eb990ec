// Android's libGLESv3.so: what the library that this one is linked with has (libGLESv2.so.2). With
// BIONIC_GLES_CALLS=FILE, what the program asks the GPU to compute is appended to FILE, a line for
// each call; the text of a shader follows its line, which tells its size in bytes:
//
//   source SHADER SIZE
//   attach PROGRAM SHADER
//   location PROGRAM LOCATION NAME
//   uniform PROGRAM LOCATION NUMBER... (whole numbers only)
//   dispatch PROGRAM GROUPS_X GROUPS_Y GROUPS_Z
//
// Calls of functions from eglGetProcAddress do not come here.
#define _GNU_SOURCE
#include <GLES3/gl31.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE* calls(void) {
  static FILE* file;
  static int is_open;
  const char* path = is_open ? NULL : getenv("BIONIC_GLES_CALLS");
  is_open = 1;
  if (path) file = fopen(path, "a");
  return file;
}

// The process may end without closing files.
#define TELL(...)                    \
  do {                               \
    if (calls()) {                   \
      fprintf(calls(), __VA_ARGS__); \
      fflush(calls());               \
    }                                \
  } while (0)

// The function of this name behind this library, as `next`.
#define NEXT(type, name) \
  static type next;      \
  if (!next) next = (type)dlsym(RTLD_NEXT, name)

void glShaderSource(GLuint shader, GLsizei count, const GLchar* const* texts, const GLint* sizes) {
  NEXT(PFNGLSHADERSOURCEPROC, "glShaderSource");
  size_t size = 0;
  for (GLsizei i = 0; i < count; ++i)
    size += sizes && sizes[i] >= 0 ? (size_t)sizes[i] : strlen(texts[i]);
  if (calls()) {
    flockfile(calls());
    fprintf(calls(), "source %u %zu\n", shader, size);
    for (GLsizei i = 0; i < count; ++i) {
      const size_t part = sizes && sizes[i] >= 0 ? (size_t)sizes[i] : strlen(texts[i]);
      fwrite(texts[i], 1, part, calls());
    }
    fputc('\n', calls());
    fflush(calls());
    funlockfile(calls());
  }
  next(shader, count, texts, sizes);
}

void glAttachShader(GLuint program, GLuint shader) {
  NEXT(PFNGLATTACHSHADERPROC, "glAttachShader");
  TELL("attach %u %u\n", program, shader);
  next(program, shader);
}

GLint glGetUniformLocation(GLuint program, const GLchar* name) {
  NEXT(PFNGLGETUNIFORMLOCATIONPROC, "glGetUniformLocation");
  const GLint location = next(program, name);
  TELL("location %u %d %s\n", program, location, name);
  return location;
}

void glProgramUniform1i(GLuint program, GLint location, GLint x) {
  NEXT(PFNGLPROGRAMUNIFORM1IPROC, "glProgramUniform1i");
  TELL("uniform %u %d %d\n", program, location, x);
  next(program, location, x);
}

void glProgramUniform2i(GLuint program, GLint location, GLint x, GLint y) {
  NEXT(PFNGLPROGRAMUNIFORM2IPROC, "glProgramUniform2i");
  TELL("uniform %u %d %d %d\n", program, location, x, y);
  next(program, location, x, y);
}

void glProgramUniform4i(GLuint program, GLint location, GLint x, GLint y, GLint z, GLint w) {
  NEXT(PFNGLPROGRAMUNIFORM4IPROC, "glProgramUniform4i");
  TELL("uniform %u %d %d %d %d %d\n", program, location, x, y, z, w);
  next(program, location, x, y, z, w);
}

void glProgramUniform1ui(GLuint program, GLint location, GLuint x) {
  NEXT(PFNGLPROGRAMUNIFORM1UIPROC, "glProgramUniform1ui");
  TELL("uniform %u %d %u\n", program, location, x);
  next(program, location, x);
}

void glProgramUniform4ui(GLuint program, GLint location, GLuint x, GLuint y, GLuint z, GLuint w) {
  NEXT(PFNGLPROGRAMUNIFORM4UIPROC, "glProgramUniform4ui");
  TELL("uniform %u %d %u %u %u %u\n", program, location, x, y, z, w);
  next(program, location, x, y, z, w);
}

static GLuint used;

void glUseProgram(GLuint program) {
  NEXT(PFNGLUSEPROGRAMPROC, "glUseProgram");
  used = program;
  next(program);
}

void glDispatchCompute(GLuint x, GLuint y, GLuint z) {
  NEXT(PFNGLDISPATCHCOMPUTEPROC, "glDispatchCompute");
  TELL("dispatch %u %u %u %u\n", used, x, y, z);
  next(x, y, z);
}
