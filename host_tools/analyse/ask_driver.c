// ask_driver LIBEGL FILE...: has the OpenGL ES driver that LIBEGL finds compile and link compute
// shaders, and prints whatever the driver says. Nothing is dispatched: the device may be a
// pretended one.
//
//   ### device RENDERER | VERSION
//   ### text FILE
//   ... the driver's own words; its messages begin with "said: " ...
//   ### end ok | compile | link
//
// Exit status 2: there is no such driver. It needs no header of EGL or OpenGL ES, and links
// neither.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  kSurfaceless = 0x31DD,
  kOpenGlEs = 0x30A0,
  kMajor = 0x3098,
  kMinor = 0x30FB,
  kFlags = 0x30FC,
  kDebugFlag = 1,
  kNone = 0x3038,
  kRenderer = 0x1F01,
  kVersion = 0x1F02,
  kComputeShader = 0x91B9,
  kCompileStatus = 0x8B81,
  kLinkStatus = 0x8B82,
  kDebugOutput = 0x92E0,
  kDebugSynchronous = 0x8242,
  kDontCare = 0x1100,
};

typedef void (*Function)(void);
static Function (*look_up)(const char*);

static void give_up(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(2);
}

static Function function(const char* name) {
  Function found = look_up(name);
  if (!found) give_up(name);
  return found;
}

// A function of the API, with its type: CALL(unsigned, glCreateShader, (unsigned))(kind)
#define CALL(result, name, arguments) ((result(*) arguments)function(#name))

static void on_message(unsigned source, unsigned type, unsigned id, unsigned severity, int length,
                       const char* text, const void* user) {
  (void)source, (void)type, (void)id, (void)severity, (void)length, (void)user;
  printf("said: %s%s", text, *text && text[strlen(text) - 1] == '\n' ? "" : "\n");
}

static char* content(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) give_up(path);
  long size = ftell(file);
  rewind(file);
  char* text = calloc((size_t)size + 1, 1);
  if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) give_up(path);
  fclose(file);
  return text;
}

static void open_context(void) {
  void* display =
      CALL(void*, eglGetPlatformDisplay, (unsigned, void*, const long*))(kSurfaceless, NULL, NULL);
  int major = 0, minor = 0;
  if (!CALL(unsigned, eglInitialize, (void*, int*, int*))(display, &major, &minor))
    give_up("eglInitialize");
  CALL(unsigned, eglBindAPI, (unsigned))(kOpenGlEs);
  const int wanted[] = {kMajor, 3, kMinor, 1, kFlags, kDebugFlag, kNone};
  void* context =
      CALL(void*, eglCreateContext, (void*, void*, void*, const int*))(display, NULL, NULL, wanted);
  if (!context) give_up("eglCreateContext");
  if (!CALL(unsigned, eglMakeCurrent, (void*, void*, void*, void*))(display, NULL, NULL, context)) {
    give_up("eglMakeCurrent");
  }
  CALL(void, glEnable, (unsigned))(kDebugOutput);
  CALL(void, glEnable, (unsigned))(kDebugSynchronous);
  CALL(void, glDebugMessageCallback, (void*, const void*))((void*)on_message, NULL);
  CALL(void, glDebugMessageControl,
       (unsigned, unsigned, unsigned, int, const unsigned*, unsigned char))(kDontCare, kDontCare,
                                                                            kDontCare, 0, NULL, 1);
}

static const char* compiled(const char* text, char* log, int size) {
  unsigned shader = CALL(unsigned, glCreateShader, (unsigned))(kComputeShader);
  CALL(void, glShaderSource, (unsigned, int, const char* const*, const int*))(shader, 1, &text,
                                                                              NULL);
  CALL(void, glCompileShader, (unsigned))(shader);
  int is_done = 0;
  CALL(void, glGetShaderiv, (unsigned, unsigned, int*))(shader, kCompileStatus, &is_done);
  if (!is_done) {
    CALL(void, glGetShaderInfoLog, (unsigned, int, int*, char*))(shader, size, NULL, log);
    return "compile";
  }
  unsigned program = CALL(unsigned, glCreateProgram, (void))();
  CALL(void, glAttachShader, (unsigned, unsigned))(program, shader);
  CALL(void, glLinkProgram, (unsigned))(program);
  CALL(void, glGetProgramiv, (unsigned, unsigned, int*))(program, kLinkStatus, &is_done);
  CALL(void, glGetProgramInfoLog, (unsigned, int, int*, char*))(program, size, NULL, log);
  CALL(void, glDeleteProgram, (unsigned))(program);
  CALL(void, glDeleteShader, (unsigned))(shader);
  return is_done ? "ok" : "link";
}

int main(int count, char** words) {
  dup2(1, 2);  // drivers write to both: one order
  setvbuf(stdout, NULL, _IOLBF, 0);
  void* library = count > 1 ? dlopen(words[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
  if (!library) give_up(count > 1 ? dlerror() : "ask_driver LIBEGL FILE...");
  *(void**)&look_up = dlsym(library, "eglGetProcAddress");
  if (!look_up) give_up("eglGetProcAddress");
  open_context();
  const char* (*string)(unsigned) = CALL(const char*, glGetString, (unsigned));
  printf("### device %s | %s\n", string(kRenderer), string(kVersion));
  for (int i = 2; i < count; ++i) {
    char log[8192] = "", *text = content(words[i]);
    printf("### text %s\n", words[i]);
    const char* end = compiled(text, log, sizeof log);
    if (*log) printf("log: %s\n", log);
    printf("### end %s\n", end);
    free(text);
  }
  fflush(stdout);
  _exit(0);  // a driver of a pretended device may not end in order
}
