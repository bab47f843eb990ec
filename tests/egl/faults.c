/* Faults that a driver can have. A context belongs to one thread, so does what is known of it here.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egl_test.h"

enum { kObjects = 1 << 16 };
enum {
  kRenderer = 0x1F01,
  kVersion = 0x1F02,
  kExtensions = 0x1F03,
  kOutOfMemory = 0x0505,
  kContextLost = 0x0507
};

struct State {
  GLenum error;            /* what glGetError answers next */
  int lost, lost_silently; /* every call is for nothing; silently: no error tells so */
  long long dispatches, allocations, compiled;
  unsigned refused_by_number;                /* a hash of that text */
  char refused[kObjects], matched[kObjects]; /* by shader or program */
  char skips[kObjects];                      /* likewise */
  long long skippable;                       /* dispatches of such programs */
  unsigned hash[kObjects];                   /* likewise, of the text behind its group's size */
  int group[kObjects][3], query_ns[kObjects];
  unsigned used;  /* the program */
  unsigned query; /* begun last */
};
static __thread struct State* state;
static __thread int egl_error;

static int Is(const char* text, size_t size, const char* word) {
  return strlen(word) == size && !memcmp(text, word, size);
}

/* The first entry after `*at` that is `word`; moves `*at` behind it. */
static const char* NextFault(const char* word, const char** at) {
  static __thread char value[512];
  while (*at && **at) {
    const char* entry = *at;
    size_t size = strcspn(entry, " "), name = strcspn(entry, " =");
    *at = entry + size + (entry[size] == ' ');
    if (!Is(entry, name, word)) continue;
    size_t from = name < size ? name + 1 : size, length = size - from;
    if (length >= sizeof value) length = sizeof value - 1;
    memcpy(value, entry + from, length);
    value[length] = '\0';
    return value;
  }
  return NULL;
}

const char* Fault(const char* word) {
  const char* at = getenv("EGL_FAULTS");
  return NextFault(word, &at);
}

long long FaultNumber(const char* word, long long otherwise) {
  const char* value = Fault(word);
  return value ? atoll(value) : otherwise;
}

/* hide=WORD (any number of times): an extension, or a function, that this driver does not have. */
static int Hidden(const char* name, size_t size) {
  const char* at = getenv("EGL_FAULTS");
  for (const char* hidden; (hidden = NextFault("hide", &at));)
    if (Is(name, size, hidden)) return 1;
  return 0;
}

static const char* WithoutHidden(const char* words) {
  static __thread char left[8192];
  size_t used = 0;
  if (!words) return NULL;
  for (const char* at = words; *at;) {
    size_t size = strcspn(at, " "), whole = size + (at[size] == ' ');
    if (!Hidden(at, size) && used + whole < sizeof left)
      memcpy(left + used, at, whole), used += whole;
    at += whole;
  }
  left[used] = '\0';
  return left;
}

void* RealEgl(const char* name) {
  static void* library;
  if (!library) library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) abort(); /* the tests look for it first */
  return dlsym(library, name);
}

void* RealGl(const char* name) {
  return ((void* (*)(const char*))RealEgl("eglGetProcAddress"))(name);
}

/* ---- OpenGL ES ---- */

/* version=3.0: the context has this version. renderer=NAME: the GPU calls itself so. */
WRAP(const GLubyte*, GetString, (GLenum what)) {
  static __thread char version[64], renderer[512];
  if (what == kExtensions) return (const GLubyte*)WithoutHidden((const char*)next_GetString(what));
  if (what == kVersion && Fault("version"))
    return (const GLubyte*)strcat(strcpy(version, "OpenGL ES "), Fault("version"));
  if (what == kRenderer && Fault("renderer"))
    return (const GLubyte*)strcpy(renderer, Fault("renderer"));
  return next_GetString(what);
}

static void (*next_GetIntegerv)(GLenum, GLint*);
static const GLubyte* (*next_GetStringi)(GLenum, GLuint);

/* The driver's index of the extension that is number `wanted` among those not hidden; counts them
 * when it is < 0. */
static GLint Extension(GLint wanted) {
  GLint count = 0, seen = 0;
  next_GetIntegerv(0x821D, &count);
  for (GLint i = 0; i < count; ++i) {
    const char* name = (const char*)next_GetStringi(kExtensions, (GLuint)i);
    if (!Hidden(name, strlen(name)) && seen++ == wanted) return i;
  }
  return seen;
}

static const GLubyte* GetStringi(GLenum what, GLuint i) {
  return next_GetStringi(what, what == kExtensions ? (GLuint)Extension((GLint)i) : i);
}

/* no_binaries: the driver gives no program binaries. disjoint: its timers were disturbed. Limits:
 * see strict.c. */
static void GetIntegerv(GLenum what, GLint* value) {
  const char* version = Fault("version");
  next_GetIntegerv(what, value);
  if (what == 0x821B && version) *value = version[0] - '0';
  if (what == 0x821C && version) *value = version[2] - '0';
  if (what == 0x821D) *value = Extension(-1);
  if (what == 0x87FE && Fault("no_binaries")) *value = 0;
  if (what == 0x8FBB && Fault("disjoint")) *value = 1;
  *value = (GLint)LimitBehind(what, -1, *value);
}

WRAP(void, GetIntegeri_v, (GLenum what, GLuint index, GLint* value)) {
  next_GetIntegeri_v(what, index, value);
  *value = (GLint)LimitBehind(what, (int)index, *value);
}

WRAP(void, GetInteger64v, (GLenum what, GLint64* value)) {
  next_GetInteger64v(what, value);
  *value = LimitBehind(what, -1, *value);
}

WRAP(GLenum, GetError, (void)) {
  GLenum error = state->error;
  if (state->lost) return state->lost_silently ? 0 : kContextLost;
  state->error = 0;
  if (error) return error;
  error = next_GetError();
  if (error) Violation("the driver answered with error 0x%x", error);
  return error;
}

static int Matches(const char* word, const char* text, long long number) {
  const char* value = Fault(word);
  if (!value) return 0;
  return isdigit((unsigned char)*value) ? atoll(value) == number : strstr(text, value) != NULL;
}

/* wrong_sum=TEXT: in shaders whose source has the text, the last `+=` is a `-=`. */
static char* WithWrongSum(const char* text) {
  char *copy = strdup(text), *sum = NULL;
  for (char* next = copy; (next = strstr(next, " += ")) != NULL; ++next) sum = next;
  if (sum) sum[1] = '-';
  return copy;
}

/* Behind the line that says how large groups are. */
static unsigned HashOf(const char* text) {
  const char* end = strstr(text, ") in;");
  unsigned hash = 5381;
  for (const char* c = end ? end : text; *c; ++c) hash = hash * 33 + (unsigned char)*c;
  return hash;
}

/* A shader that is refused by its number is refused with groups of any size. */
static int Refused(const char* fault, const char* text) {
  const unsigned hash = HashOf(text);
  if (!Matches(fault, text, state->compiled))
    return Fault(fault) && state->refused_by_number == hash;
  if (!Matches(fault, text, -1)) state->refused_by_number = hash;
  return 1;
}

static void ReadGroup(const char* text, int* group) {
  const char* at = strstr(text, "local_size_x");
  group[0] = group[1] = group[2] = 1;
  if (!at) return;
  sscanf(at, "local_size_x = %d, local_size_y = %d, local_size_z = %d", &group[0], &group[1],
         &group[2]);
}

/* few_items=TEXT: shaders whose source has the text compile with at most 16 work-items in a group.
 */
static int HasTooMany(const char* text, const int* group) {
  return Matches("few_items", text, -1) && group[0] * group[1] * group[2] > 16;
}

/* miscompiles=FROM:TO, of one length: the optimiser mistakes the one for the other. */
static char* Mistaken(const char* text, const char* mistake) {
  char* wrong = strdup(text);
  char from[64] = "";
  size_t size = strcspn(mistake, ":");
  memcpy(from, mistake, size < sizeof from ? size : 0);
  for (char* at = wrong; *from && (at = strstr(at, from)); at += size)
    memcpy(at, mistake + size + 1, size);
  return wrong;
}

/* refuse_compile, refuse_link=TEXT or NUMBER: of the shaders whose source has the text, or of the
 * one with that number (they are counted from 1). */
WRAP(void, ShaderSource,
     (GLuint shader, GLsizei count, const char* const* text, const GLint* sizes)) {
  int* group = state->group[shader % kObjects];
  ++state->compiled;
  state->hash[shader % kObjects] = HashOf(text[0]);
  ReadGroup(text[0], group);
  state->refused[shader % kObjects] =
      (char)(Refused("refuse_compile", text[0]) || HasTooMany(text[0], group));
  state->matched[shader % kObjects] = (char)Refused("refuse_link", text[0]);
  state->skips[shader % kObjects] = (char)Matches("skip_in", text[0], -1);
  const char* mistake = strstr(text[0], "#pragma optimize(off)") ? NULL : Fault("miscompiles");
  if (!mistake && !Matches("wrong_sum", text[0], -1)) {
    next_ShaderSource(shader, count, text, sizes);
    return;
  }
  const char* wrong = mistake ? Mistaken(text[0], mistake) : WithWrongSum(text[0]);
  next_ShaderSource(shader, 1, &wrong, NULL);
  free((char*)wrong);
}

WRAP(void, AttachShader, (GLuint program, GLuint shader)) {
  state->refused[program % kObjects] = state->matched[shader % kObjects];
  state->skips[program % kObjects] = state->skips[shader % kObjects];
  state->hash[program % kObjects] = state->hash[shader % kObjects];
  memcpy(state->group[program % kObjects], state->group[shader % kObjects], 3 * sizeof(int));
  next_AttachShader(program, shader);
}

WRAP(void, GetShaderiv, (GLuint shader, GLenum what, GLint* value)) {
  next_GetShaderiv(shader, what, value);
  if (what == 0x8B81 && state->refused[shader % kObjects]) *value = 0;
}

WRAP(void, GetProgramiv, (GLuint program, GLenum what, GLint* value)) {
  next_GetProgramiv(program, what, value);
  if (what == 0x8B82 && (state->refused[program % kObjects] || state->lost)) *value = 0;
}

static void Refusal(GLuint object, GLsizei most, GLsizei* size, char* log) {
  static const char kLog[] = "0:7: this test wants no such thing";
  if (!state->refused[object % kObjects] || most < (GLsizei)sizeof kLog) return;
  memcpy(log, kLog, sizeof kLog);
  *size = (GLsizei)sizeof kLog - 1;
}

WRAP(void, GetShaderInfoLog, (GLuint shader, GLsizei most, GLsizei* size, char* log)) {
  next_GetShaderInfoLog(shader, most, size, log);
  Refusal(shader, most, size, log);
}

WRAP(void, GetProgramInfoLog, (GLuint program, GLsizei most, GLsizei* size, char* log)) {
  next_GetProgramInfoLog(program, most, size, log);
  Refusal(program, most, size, log);
}

/* out_of_memory=N: the N-th buffer finds none. */
/* wrong_constant=NUMBER: each float of that value in what is uploaded is 3 more. */
static void* WithWrongConstant(const void* data, size_t bytes) {
  const float number = (float)FaultNumber("wrong_constant", 0);
  float* copy = malloc(bytes);
  memcpy(copy, data, bytes);
  for (size_t i = 0; i < bytes / sizeof number; ++i) copy[i] += copy[i] == number ? 3.0f : 0.0f;
  return copy;
}

WRAP(void, BufferData, (GLenum target, GLsizeiptr size, const void* data, GLenum usage)) {
  if (++state->allocations == FaultNumber("out_of_memory", -1)) state->error = kOutOfMemory;
  else if (data && Fault("wrong_constant")) {
    void* wrong = WithWrongConstant(data, (size_t)size);
    next_BufferData(target, size, wrong, usage);
    free(wrong);
  } else if (!state->lost) next_BufferData(target, size, data, usage);
}

/* lost_after=N: the context is lost after so many dispatches. lost_silently_after=N: and only the
 * question after the reset tells so. skip_in=TEXT, skip_every=N: of the dispatches of shaders whose
 * source has the text, each N-th does nothing. */
WRAP(void, DispatchCompute, (GLuint x, GLuint y, GLuint z)) {
  const long long after = FaultNumber("lost_after", -1),
                  silently = FaultNumber("lost_silently_after", -1);
  if (state->dispatches == after || state->dispatches == silently) state->lost = 1;
  if (state->dispatches == silently) state->lost_silently = 1;
  ++state->dispatches;
  if (state->skips[state->used % kObjects] &&
      ++state->skippable % FaultNumber("skip_every", 1) == 0)
    return;
  if (!state->lost) next_DispatchCompute(x, y, z);
}

WRAP(GLenum, GetGraphicsResetStatus, (void)) {
  return state->lost ? 0x8253 : next_GetGraphicsResetStatus ? next_GetGraphicsResetStatus() : 0;
}

/* map_fails: without an error, as some drivers do. */
WRAP(void*, MapBufferRange, (GLenum target, GLintptr offset, GLsizeiptr size, GLbitfield access)) {
  if (Fault("map_fails") || (state->lost && !state->lost_silently)) return NULL;
  return next_MapBufferRange(target, offset, size, access);
}

/* unmap_fails: what was written is lost. */
WRAP(GLboolean, UnmapBuffer, (GLenum target)) {
  const GLboolean done = next_UnmapBuffer(target);
  return done && !Fault("unmap_fails");
}

/* fence_fails, wait_fails: without an error. never_done: the kernels take for ever. */
WRAP(GLsync, FenceSync, (GLenum condition, GLbitfield flags)) {
  if (Fault("fence_fails") || (state->lost && !state->lost_silently)) return NULL;
  return next_FenceSync(condition, flags);
}

WRAP(GLenum, ClientWaitSync, (GLsync sync, GLbitfield flags, GLuint64 timeout)) {
  const GLenum answer = next_ClientWaitSync(sync, flags, timeout);
  return Fault("wait_fails") ? 0x911D : Fault("never_done") ? 0x911B : answer;
}

WRAP(void, UseProgram, (GLuint program)) {
  state->used = program % kObjects;
  next_UseProgram(program);
}

/* times_by_group=FILE: what a query measures follows from the group of the program that was used
 * last; the file gets a line for each: a hash of the program's text, and its group. */
static void NoteGroup(unsigned query) {
  const char* path = Fault("times_by_group");
  const int* group = state->group[state->used];
  FILE* file = path && group[0] ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "%u %d %d %d\n", state->hash[state->used], group[0], group[1], group[2]);
  fclose(file);
  state->query_ns[query] = 1000 * (1 + (7 * group[0] + 13 * group[1] + 29 * group[2]) % 101);
}

/* no_timers: the queries are refused. timer_ns=N: each measures N. */
WRAP(void, BeginQuery, (GLenum target, GLuint query)) {
  state->query = query % kObjects;
  if (Fault("no_timers")) state->error = 0x0500;
  else next_BeginQuery(target, query);
}

WRAP(void, EndQuery, (GLenum target)) {
  NoteGroup(state->query);
  if (!Fault("no_timers")) next_EndQuery(target);
}

WRAP(void, GetQueryObjectuiv, (GLuint query, GLenum what, GLuint* value)) {
  if (!Fault("no_timers")) next_GetQueryObjectuiv(query, what, value);
  *value = (GLuint)FaultNumber("timer_ns", *value);
  if (Fault("times_by_group")) *value = (GLuint)state->query_ns[query % kObjects];
}

const struct Hook kFaultHooks[] = {HOOK(GetString),
                                   HOOK(GetStringi),
                                   HOOK(GetIntegerv),
                                   HOOK(GetIntegeri_v),
                                   HOOK(GetInteger64v),
                                   HOOK(GetError),
                                   HOOK(ShaderSource),
                                   HOOK(AttachShader),
                                   HOOK(GetShaderiv),
                                   HOOK(GetProgramiv),
                                   HOOK(GetShaderInfoLog),
                                   HOOK(GetProgramInfoLog),
                                   HOOK(BufferData),
                                   HOOK(DispatchCompute),
                                   HOOK(MapBufferRange),
                                   HOOK(UnmapBuffer),
                                   HOOK(UseProgram),
                                   HOOK(FenceSync),
                                   HOOK(ClientWaitSync),
                                   HOOK(BeginQuery),
                                   HOOK(EndQuery),
                                   HOOK(GetQueryObjectuiv),
                                   {"glGetGraphicsResetStatusEXT", (void*)GetGraphicsResetStatus,
                                    (void**)&next_GetGraphicsResetStatus},
                                   {"glGetGraphicsResetStatusKHR", (void*)GetGraphicsResetStatus,
                                    (void**)&next_GetGraphicsResetStatus},
                                   {0}};

/* ---- EGL: what a program looks up in the library itself ---- */

typedef void* Handle;
enum { kEglExtensions = 0x3055, kNone = 0x3038, kResetStrategy = 0x3138 };
enum { kNotInitialized = 0x3001, kBadConfig = 0x3005, kBadMatch = 0x3009 };
#define REAL(result, name, ...) ((result (*)(__VA_ARGS__))RealEgl(#name))

static int Refuse(int error) {
  egl_error = error;
  return 0;
}

int eglGetError(void) {
  const int error = egl_error, real = REAL(int, eglGetError, void)();
  egl_error = 0;
  return error ? error : real;
}

Handle eglGetCurrentContext(void) { return REAL(Handle, eglGetCurrentContext, void)(); }

const char* eglQueryString(Handle display, int what) {
  const char* text = REAL(const char*, eglQueryString, Handle, int)(display, what);
  return what == kEglExtensions ? WithoutHidden(text) : text;
}

/* no_display: there is none of any kind. */
Handle eglGetDisplay(Handle native) {
  return Fault("no_display") ? NULL : REAL(Handle, eglGetDisplay, Handle)(native);
}

static Handle GetPlatformDisplay(GLenum platform, void* native, const int* attributes) {
  if (Fault("no_display")) return NULL;
  return ((Handle (*)(GLenum, void*, const int*))RealGl("eglGetPlatformDisplayEXT"))(
      platform, native, attributes);
}

/* initialize_fails: of every display. */
unsigned eglInitialize(Handle display, int* major, int* minor) {
  if (Fault("initialize_fails")) return (unsigned)Refuse(kNotInitialized);
  return REAL(unsigned, eglInitialize, Handle, int*, int*)(display, major, minor);
}

unsigned eglBindAPI(GLenum api) { return REAL(unsigned, eglBindAPI, GLenum)(api); }

/* no_configs: none does what is wanted. */
unsigned eglChooseConfig(Handle display, const int* wanted, Handle* configs, int most, int* count) {
  const unsigned done = REAL(unsigned, eglChooseConfig, Handle, const int*, Handle*, int, int*)(
      display, wanted, configs, most, count);
  if (Fault("no_configs")) *count = 0;
  return done;
}

/* context_refused: the driver has no OpenGL ES 3.1. reset_strategy_refused: no context that tells
 * of resets. */
Handle eglCreateContext(Handle display, Handle config, Handle shared, const int* attributes) {
  int strategy = 0;
  for (const int* a = attributes; a && *a != kNone; a += 2) strategy |= *a == kResetStrategy;
  if (Fault("context_refused")) return Refuse(kBadMatch), NULL;
  if (strategy && Fault("reset_strategy_refused")) return Refuse(kBadMatch), NULL;
  if (!config && Hidden("EGL_KHR_no_config_context", 25)) return Refuse(kBadConfig), NULL;
  Handle made = REAL(Handle, eglCreateContext, Handle, Handle, Handle, const int*)(
      display, config, shared, attributes);
  if (made && !state) state = calloc(1, sizeof *state);
  else if (made) memset(state, 0, sizeof *state);
  if (made) StrictBegin(made, shared);
  return made;
}

Handle eglCreatePbufferSurface(Handle display, Handle config, const int* attributes) {
  return REAL(Handle, eglCreatePbufferSurface, Handle, Handle, const int*)(display, config,
                                                                           attributes);
}

unsigned eglMakeCurrent(Handle display, Handle draw, Handle read, Handle context) {
  if (context && !draw && Hidden("EGL_KHR_surfaceless_context", 27))
    return (unsigned)Refuse(kBadMatch);
  if (!context && state) StrictEnd();
  return REAL(unsigned, eglMakeCurrent, Handle, Handle, Handle, Handle)(display, draw, read,
                                                                        context);
}

unsigned eglDestroyContext(Handle display, Handle context) {
  return REAL(unsigned, eglDestroyContext, Handle, Handle)(display, context);
}

unsigned eglDestroySurface(Handle display, Handle surface) {
  return REAL(unsigned, eglDestroySurface, Handle, Handle)(display, surface);
}

unsigned eglReleaseThread(void) {
  free(state);
  state = NULL;
  return REAL(unsigned, eglReleaseThread, void)();
}

static void* Before(const struct Hook* hooks, const char* name, void* function) {
  for (; hooks->name; ++hooks) {
    if (strcmp(hooks->name, name)) continue;
    *hooks->next = function;
    return hooks->function;
  }
  return function;
}

void* eglGetProcAddress(const char* name) {
  if (Hidden(name, strlen(name))) return NULL;
  if (!strcmp(name, "eglGetPlatformDisplayEXT")) return (void*)GetPlatformDisplay;
  void* function = RealGl(name);
  return function ? Before(kFaultHooks, name, Before(kStrictHooks, name, function)) : NULL;
}
