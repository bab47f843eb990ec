/* What a driver may not check, but another one does: every call is held against the limits (the
 * driver's, or the lower ones in EGL_FAULTS), and what was written is read behind the right barrier
 * only. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egl_test.h"

enum { kObjects = 1 << 16, kUnits = 256 };
enum {
  kStorageBuffer = 0x90D2,
  kUniformBuffer = 0x8A11,
  kIndirectBuffer = 0x8F3F,
  kTextureBuffer = 0x8C2A,
  kTexture0 = 0x84C0
};
enum {
  kFetchBarrier = 0x8,
  kImageBarrier = 0x20,
  kUpdateBarrier = 0x200,
  kStorageBarrier = 0x2000
};

/* index -1: not one of an array; -2: of 64 bits. */
static const struct {
  const char* word;
  GLenum what;
  int index;
} kLimits[] = {
    {"storage_blocks", 0x90DB, -1},
    {"storage_bindings", 0x90DD, -1},
    {"storage_alignment", 0x90DF, -1},
    {"storage_block_bytes", 0x90DE, -2},
    {"uniform_alignment", 0x8A34, -1},
    {"uniform_block_bytes", 0x8A30, -1},
    {"image_uniforms", 0x91BD, -1},
    {"image_units", 0x8F38, -1},
    {"texture_units", 0x91BC, -1},
    {"texture_size", 0x0D33, -1},
    {"texture_buffer_texels", 0x8C2B, -1},
    {"texture_buffer_alignment", 0x919F, -1},
    {"invocations", 0x90EB, -1},
    {"shared_bytes", 0x8262, -1},
    {"group_x", 0x91BF, 0},
    {"group_y", 0x91BF, 1},
    {"group_z", 0x91BF, 2},
    {"groups_x", 0x91BE, 0},
    {"groups_y", 0x91BE, 1},
    {"groups_z", 0x91BE, 2},
};
enum { kLimitCount = sizeof kLimits / sizeof kLimits[0] };

/* secret_limits: the driver does not tell of the lower limits, so whoever asks it will overstep
 * them. */
long long LimitBehind(GLenum what, int index, long long real) {
  if (Fault("secret_limits")) return real;
  for (int i = 0; i < kLimitCount; ++i) {
    const int own = kLimits[i].index < 0 ? -1 : kLimits[i].index;
    if (kLimits[i].what == what && own == index) return FaultNumber(kLimits[i].word, real);
  }
  return real;
}

long long Limit(const char* word) {
  for (int i = 0; i < kLimitCount; ++i) {
    GLint value = 0;
    GLint64 wide = 0;
    if (strcmp(kLimits[i].word, word)) continue;
    const GLenum what = kLimits[i].what;
    const int index = kLimits[i].index;
    if (index == -2) ((void (*)(GLenum, GLint64*))RealGl("glGetInteger64v"))(what, &wide);
    else if (index == -1) ((void (*)(GLenum, GLint*))RealGl("glGetIntegerv"))(what, &value);
    else ((void (*)(GLenum, GLuint, GLint*))RealGl("glGetIntegeri_v"))(what, (GLuint)index, &value);
    return FaultNumber(word, index == -2 ? wide : value);
  }
  abort();
}

void Violation(const char* format, ...) {
  const char* path = Fault("strict");
  FILE* file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  va_list args;
  va_start(args, format);
  vfprintf(file, format, args);
  va_end(args);
  fputc('\n', file);
  fclose(file);
}

struct Range {
  GLuint object;
  long long bytes;
};
/* What a program was found to use. */
struct Program {
  int known, blocks, images, samplers;
  struct {
    GLint binding, bytes;
  } block[32], numbers;
};
struct State {
  long long bytes[kObjects];  /* of a buffer */
  long long shared[kObjects]; /* of a shader, then of its program */
  struct Program programs[kObjects];
  struct Range storage[kUnits], uniform;
  GLuint bound_storage, bound_uniform, used, images[kUnits], textures[kUnits];
  GLuint unit;
  int mapped, dispatched;
  GLbitfield barriers; /* since the last dispatch */
  int live[7];
};
static __thread struct State* state;
enum { kBuffers, kTextures, kQueries, kPrograms, kShaders, kSyncs };
static const char* const kLive[] = {"buffers",  "textures", "queries",
                                    "programs", "shaders",  "fences"};

/* Null where nothing is to be watched. */
static struct State* Watched(const char* call) {
  if (!Fault("strict")) return NULL;
  if (!state || !((void* (*)(void))RealEgl("eglGetCurrentContext"))()) {
    Violation("%s without a context", call);
    return NULL;
  }
  return state;
}

/* Whose state a context has, for contexts that share its objects. */
enum { kContexts = 64 };
static struct {
  const void* context;
  struct State* state;
} contexts[kContexts];
static pthread_mutex_t contexts_mutex = PTHREAD_MUTEX_INITIALIZER;

static void Forget(const void* context, const struct State* gone) {
  for (int i = 0; i < kContexts; ++i) {
    if ((context && contexts[i].context == context) || (gone && contexts[i].state == gone))
      contexts[i].context = NULL, contexts[i].state = NULL;
  }
}

/* A context that shares another's objects begins with what is known of its buffers. */
void StrictBegin(const void* context, const void* shares) {
  pthread_mutex_lock(&contexts_mutex);
  Forget(context, state);
  free(state);
  state = calloc(1, sizeof *state);
  int free_place = -1;
  for (int i = 0; i < kContexts; ++i) {
    if (!contexts[i].context) free_place = i;
    if (!shares || contexts[i].context != shares) continue;
    memcpy(state->bytes, contexts[i].state->bytes, sizeof state->bytes);
  }
  if (free_place >= 0) contexts[free_place].context = context, contexts[free_place].state = state;
  pthread_mutex_unlock(&contexts_mutex);
}

void StrictEnd(void) {
  if (!state) return;
  for (int i = 0; i < 6; ++i)
    if (state->live[i]) Violation("%d %s were never deleted", state->live[i], kLive[i]);
  pthread_mutex_lock(&contexts_mutex);
  Forget(NULL, state);
  free(state);
  state = NULL;
  pthread_mutex_unlock(&contexts_mutex);
}

static void Check(int good, const char* call, const char* what, long long value, const char* word) {
  if (!good) Violation("%s: %s %lld against %s=%lld", call, what, value, word, Limit(word));
}
static void AtMost(const char* call, const char* what, long long value, const char* word) {
  Check(value <= Limit(word), call, what, value, word);
}

#define COUNTED(Kind, what)                                                 \
  WRAP(void, Gen##Kind, (GLsizei count, GLuint * made)) {                   \
    next_Gen##Kind(count, made);                                            \
    if (Watched("glGen" #Kind)) state->live[what] += count;                 \
  }                                                                         \
  WRAP(void, Delete##Kind, (GLsizei count, const GLuint* ids)) {            \
    if (Watched("glDelete" #Kind))                                          \
      for (GLsizei i = 0; i < count; ++i) state->live[what] -= ids[i] != 0; \
    next_Delete##Kind(count, ids);                                          \
  }
COUNTED(Buffers, kBuffers)
COUNTED(Textures, kTextures)
COUNTED(Queries, kQueries)

WRAP(GLuint, CreateProgram, (void)) {
  const GLuint made = next_CreateProgram();
  if (Watched("glCreateProgram"))
    ++state->live[kPrograms], state->programs[made % kObjects].known = 0;
  return made;
}
WRAP(void, DeleteProgram, (GLuint program)) {
  if (Watched("glDeleteProgram")) state->live[kPrograms] -= program != 0;
  next_DeleteProgram(program);
}
WRAP(GLuint, CreateShader, (GLenum kind)) {
  if (Watched("glCreateShader")) ++state->live[kShaders];
  return next_CreateShader(kind);
}
WRAP(void, DeleteShader, (GLuint shader)) {
  if (Watched("glDeleteShader")) state->live[kShaders] -= shader != 0;
  next_DeleteShader(shader);
}
WRAP(GLsync, FenceSync, (GLenum condition, GLbitfield flags)) {
  if (Watched("glFenceSync")) ++state->live[kSyncs];
  return next_FenceSync(condition, flags);
}
WRAP(void, DeleteSync, (GLsync sync)) {
  if (Watched("glDeleteSync")) state->live[kSyncs] -= sync != NULL;
  next_DeleteSync(sync);
}

/* The bytes of "shared [highp] TYPE name[COUNT];" in a text. */
static long long SharedBytes(const char* text) {
  long long bytes = 0;
  for (const char* at = text; (at = strstr(at, "\nshared "));) {
    char words[3][32] = {"", "", ""};
    at += 8;
    const char* end = strchr(at, ';');
    const char* count = memchr(at, '[', end ? (size_t)(end - at) : 0);
    const int found = sscanf(at, "%31s %31s %31s", words[0], words[1], words[2]);
    const char* type =
        found == 3 && (strstr(words[0], "ump") || strstr(words[0], "highp")) ? words[1] : words[0];
    const int each = strstr(type, "vec4") ? 16 : strstr(type, "vec2") ? 8 : 4;
    bytes += each * (count ? atoll(count + 1) : 1);
  }
  return bytes;
}
WRAP(void, ShaderSource,
     (GLuint shader, GLsizei count, const char* const* text, const GLint* sizes)) {
  if (Watched("glShaderSource")) state->shared[shader % kObjects] = SharedBytes(text[0]);
  next_ShaderSource(shader, count, text, sizes);
}
WRAP(void, AttachShader, (GLuint program, GLuint shader)) {
  if (Watched("glAttachShader"))
    state->shared[program % kObjects] = state->shared[shader % kObjects];
  next_AttachShader(program, shader);
}

/* ---- memory ---- */

static GLuint BoundTo(GLenum target) {
  return target == kUniformBuffer ? state->bound_uniform : state->bound_storage;
}

WRAP(void, BindBuffer, (GLenum target, GLuint buffer)) {
  if (target != kIndirectBuffer && Watched("glBindBuffer"))
    *(target == kUniformBuffer ? &state->bound_uniform : &state->bound_storage) = buffer;
  next_BindBuffer(target, buffer);
}
WRAP(void, BufferData, (GLenum target, GLsizeiptr size, const void* data, GLenum usage)) {
  if (target != kIndirectBuffer && Watched("glBufferData"))
    state->bytes[BoundTo(target) % kObjects] = size;
  next_BufferData(target, size, data, usage);
}

static void Inside(const char* call, GLuint buffer, GLintptr offset, GLsizeiptr size) {
  const long long bytes = state->bytes[buffer % kObjects];
  if (offset < 0 || size <= 0 || offset + size > bytes)
    Violation("%s: %lld bytes at %lld of %lld", call, (long long)size, (long long)offset, bytes);
}

WRAP(void, BindBufferRange,
     (GLenum target, GLuint index, GLuint buffer, GLintptr offset, GLsizeiptr size)) {
  const char* call = "glBindBufferRange";
  if (Watched(call)) {
    const int numbers = target == kUniformBuffer;
    const char* alignment = numbers ? "uniform_alignment" : "storage_alignment";
    Check(offset % Limit(alignment) == 0, call, "offset", offset, alignment);
    AtMost(call, "bytes", size, numbers ? "uniform_block_bytes" : "storage_block_bytes");
    if (buffer) Inside(call, buffer, offset, size);
    if (!numbers) AtMost(call, "binding after", index + 1, "storage_bindings");
    *(numbers ? &state->bound_uniform : &state->bound_storage) = buffer;
    struct Range* range = numbers ? &state->uniform : &state->storage[index % kUnits];
    range->object = buffer, range->bytes = size;
  }
  next_BindBufferRange(target, index, buffer, offset, size);
}
WRAP(void, TexBufferRange,
     (GLenum target, GLenum format, GLuint buffer, GLintptr offset, GLsizeiptr size)) {
  const char* call = "glTexBufferRange";
  if (Watched(call)) {
    const int texel = format == 0x822E ? 4 : format == 0x881A ? 8 : 16; /* r32f, rgba16f, rgba32f */
    Check(offset % Limit("texture_buffer_alignment") == 0, call, "offset", offset,
          "texture_buffer_alignment");
    AtMost(call, "texels", size / texel, "texture_buffer_texels");
    Inside(call, buffer, offset, size);
  }
  next_TexBufferRange(target, format, buffer, offset, size);
}
WRAP(void, TexStorage2D,
     (GLenum target, GLsizei levels, GLenum format, GLsizei width, GLsizei height)) {
  if (Watched("glTexStorage2D")) {
    AtMost("glTexStorage2D", "width", width, "texture_size");
    AtMost("glTexStorage2D", "height", height, "texture_size");
  }
  next_TexStorage2D(target, levels, format, width, height);
}
WRAP(void*, MapBufferRange, (GLenum target, GLintptr offset, GLsizeiptr size, GLbitfield access)) {
  if (Watched("glMapBufferRange")) {
    Inside("glMapBufferRange", BoundTo(target), offset, size);
    if (state->mapped++) Violation("glMapBufferRange: a buffer is mapped already");
    if ((access & 1) && state->dispatched && !(state->barriers & kUpdateBarrier))
      Violation("glMapBufferRange: no barrier for reading since the last dispatch");
    if ((access & 1) && (access & 0xC)) Violation("glMapBufferRange: reads what it invalidates");
  }
  return next_MapBufferRange(target, offset, size, access);
}
WRAP(GLboolean, UnmapBuffer, (GLenum target)) {
  if (Watched("glUnmapBuffer") && --state->mapped < 0)
    Violation("glUnmapBuffer: nothing is mapped");
  return next_UnmapBuffer(target);
}

/* ---- dispatches ---- */

WRAP(void, ActiveTexture, (GLenum unit)) {
  if (Watched("glActiveTexture")) state->unit = unit - kTexture0;
  next_ActiveTexture(unit);
}
WRAP(void, BindTexture, (GLenum target, GLuint texture)) {
  if (Watched("glBindTexture") && target != kTextureBuffer)
    state->textures[state->unit % kUnits] = texture;
  next_BindTexture(target, texture);
}
WRAP(void, BindImageTexture,
     (GLuint unit, GLuint texture, GLint level, GLboolean layered, GLint layer, GLenum access,
      GLenum format)) {
  if (Watched("glBindImageTexture")) {
    AtMost("glBindImageTexture", "unit after", unit + 1, "image_units");
    state->images[unit % kUnits] = texture;
  }
  next_BindImageTexture(unit, texture, level, layered, layer, access, format);
}
WRAP(void, MemoryBarrier, (GLbitfield barriers)) {
  if (Watched("glMemoryBarrier")) state->barriers |= barriers;
  next_MemoryBarrier(barriers);
}

static GLint Count(GLuint program, GLenum interface) {
  GLint count = 0;
  ((void (*)(GLuint, GLenum, GLenum, GLint*))RealGl("glGetProgramInterfaceiv"))(program, interface,
                                                                                0x92F5, &count);
  return count;
}
/* Two properties of a resource of a program. */
static void Ask(GLuint program, GLenum interface, GLint i, GLenum first, GLenum second,
                GLint* answers) {
  const GLenum wanted[2] = {first, second};
  ((void (*)(GLuint, GLenum, GLuint, GLsizei, const GLenum*, GLsizei, GLsizei*, GLint*))RealGl(
      "glGetProgramResourceiv"))(program, interface, (GLuint)i, 2, wanted, 2, NULL, answers);
}

static const struct Program* Look(GLuint id) {
  struct Program* program = &state->programs[id % kObjects];
  GLint answer[2] = {0, 0}, local[3] = {0, 0, 0};
  if (program->known) return program;
  memset(program, 0, sizeof *program);
  program->known = 1;
  program->blocks = Count(id, 0x92E6);
  for (GLint i = 0; i < program->blocks && i < 32; ++i) {
    Ask(id, 0x92E6, i, 0x9302, 0x9303, answer); /* storage block: binding, least size */
    program->block[i].binding = answer[0];
    program->block[i].bytes =
        answer[1] <= 16 ? 4 : answer[1]; /* Mesa rounds up; an array of floats needs one */
  }
  if (Count(id, 0x92E2) > 0) {
    Ask(id, 0x92E2, 0, 0x9302, 0x9303, answer);
    program->numbers.binding = answer[0], program->numbers.bytes = answer[1];
  }
  for (GLint i = 0; i < Count(id, 0x92E1); ++i) {
    Ask(id, 0x92E1, i, 0x92FA, 0x92FB, answer); /* uniform: type, size of the array */
    if (answer[0] >= 0x904C && answer[0] <= 0x906C) program->images += answer[1];
    if (answer[0] == 0x8B5E || answer[0] == 0x8DC2) program->samplers += answer[1];
  }
  ((void (*)(GLuint, GLenum, GLint*))RealGl("glGetProgramiv"))(id, 0x8267, local);
  AtMost("a program", "blocks", program->blocks, "storage_blocks");
  AtMost("a program", "images", program->images, "image_uniforms");
  AtMost("a program", "textures", program->samplers, "texture_units");
  AtMost("a program", "invocations of a group", (long long)local[0] * local[1] * local[2],
         "invocations");
  AtMost("a program", "size of a group", local[0], "group_x");
  AtMost("a program", "size of a group", local[1], "group_y");
  AtMost("a program", "size of a group", local[2], "group_z");
  AtMost("a program", "shared memory", state->shared[id % kObjects], "shared_bytes");
  return program;
}

WRAP(void, UseProgram, (GLuint program)) {
  if (Watched("glUseProgram")) state->used = program;
  next_UseProgram(program);
}

static void CheckDispatch(const GLuint groups[3]) {
  const char* call = "glDispatchCompute";
  static const char* const kGroups[3] = {"groups_x", "groups_y", "groups_z"};
  const struct Program* program = Look(state->used);
  GLbitfield needed = program->blocks ? kStorageBarrier : 0;
  for (int i = 0; i < 3; ++i)
    Check(groups[i] > 0 && groups[i] <= Limit(kGroups[i]), call, "groups", groups[i], kGroups[i]);
  for (int i = 0; i < program->blocks && i < 32; ++i) {
    const struct Range* range = &state->storage[program->block[i].binding % kUnits];
    if (!range->object || range->bytes < program->block[i].bytes)
      Violation("%s: block %d has %lld bytes and needs %d", call, i, range->bytes,
                program->block[i].bytes);
  }
  if (state->uniform.bytes < program->numbers.bytes)
    Violation("%s: %lld bytes of numbers and %d are needed", call, state->uniform.bytes,
              program->numbers.bytes);
  for (int i = 0; i < program->images; ++i)
    if (!state->images[i]) Violation("%s: nothing at image unit %d", call, i);
  for (int i = 0; i < program->samplers; ++i)
    if (!state->textures[i]) Violation("%s: nothing at texture unit %d", call, i);
  if (program->images) needed |= kImageBarrier;
  if (program->samplers) needed |= kFetchBarrier;
  if (state->dispatched && (state->barriers & needed) != needed)
    Violation("%s: barriers 0x%x and 0x%x are needed", call, state->barriers, needed);
}
WRAP(void, DispatchCompute, (GLuint x, GLuint y, GLuint z)) {
  const GLuint groups[3] = {x, y, z};
  if (Watched("glDispatchCompute")) {
    CheckDispatch(groups);
    state->dispatched = 1;
    state->barriers = 0;
  }
  next_DispatchCompute(x, y, z);
}

#define TEX_BUFFER(end) \
  {"glTexBufferRange" end, (void*)TexBufferRange, (void**)&next_TexBufferRange}
const struct Hook kStrictHooks[] = {
    HOOK(GenBuffers),     HOOK(DeleteBuffers),    HOOK(GenTextures),
    HOOK(DeleteTextures), HOOK(GenQueries),       HOOK(DeleteQueries),
    HOOK(CreateProgram),  HOOK(DeleteProgram),    HOOK(CreateShader),
    HOOK(DeleteShader),   HOOK(FenceSync),        HOOK(DeleteSync),
    HOOK(ShaderSource),   HOOK(AttachShader),     HOOK(BindBuffer),
    HOOK(BufferData),     HOOK(BindBufferRange),  HOOK(TexStorage2D),
    HOOK(MapBufferRange), HOOK(UnmapBuffer),      HOOK(ActiveTexture),
    HOOK(BindTexture),    HOOK(BindImageTexture), HOOK(MemoryBarrier),
    HOOK(UseProgram),     HOOK(DispatchCompute),  TEX_BUFFER(""),
    TEX_BUFFER("EXT"),    TEX_BUFFER("OES"),      {0}};
