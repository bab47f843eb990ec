/* An EGL library for tests: the system's, but with the faults that the environment variable
 * EGL_FAULTS names, and with a strict eye on what is called. EGL_FAULTS holds words parted by
 * spaces, "word" or "word=value"; it is read anew whenever it matters, so one process can try them
 * all. The words are described where they are looked up: faults.c, strict.c. */
#ifndef EGL_TEST_H_
#define EGL_TEST_H_

#include <stddef.h>
#include <stdint.h>

typedef unsigned GLenum, GLuint, GLbitfield;
typedef int GLint, GLsizei;
typedef unsigned char GLboolean, GLubyte;
typedef intptr_t GLintptr, GLsizeiptr;
typedef int64_t GLint64;
typedef uint64_t GLuint64;
typedef void* GLsync;

/* A function that stands before the driver's own, which it reaches through `next`. */
struct Hook {
  const char* name;
  void* function;
  void** next;
};
#define HOOK(name) {"gl" #name, (void*)name, (void**)&next_##name}
/* Declares the driver's function and begins the one before it. */
#define WRAP(result, name, parameters)    \
  static result(*next_##name) parameters; \
  static result name parameters

extern const struct Hook kFaultHooks[], kStrictHooks[]; /* end with a null name */

/* The value of a word ("" when it has none), null when it is not there. Good until the next call on
 * this thread. */
const char* Fault(const char* word);
long long FaultNumber(const char* word, long long otherwise);
/* A function of the system's own EGL library, or of its OpenGL ES driver. */
void* RealEgl(const char* name);
void* RealGl(const char* name);

/* A limit of the driver, or what EGL_FAULTS says instead: storage_blocks, invocations, … */
long long Limit(const char* word);
long long LimitBehind(GLenum what, int index, long long real);

void StrictBegin(const void* context, const void* shares); /* a context was made on this thread */
void StrictEnd(void);                                      /* and is destroyed */
/* Adds a line to the file that strict=PATH names; nothing without that. */
void Violation(const char* format, ...) __attribute__((format(printf, 1, 2)));

#endif
