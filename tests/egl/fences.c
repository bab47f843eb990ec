// An EGL library for tests: the system's, with EGL_ANDROID_native_fence_sync. An eventfd stands for
// a sync fence: one that the context gives comes FENCES_DELAY_MS after it was asked for; a wait of
// the context for one is the host's here.
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct Fence {
  int fd;
};
#define MOST 64
static struct Fence fences[MOST];  // fd 0: free
static int waits, alive;

static void* real(const char* name) {
  static void* library;
  if (!library) library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
  return dlsym(library, name);
}
static void* real_extension(const char* name) {
  return ((void* (*)(const char*))real("eglGetProcAddress"))(name);
}

static int is_ours(EGLSyncKHR sync) {
  return (struct Fence*)sync >= fences && (struct Fence*)sync < fences + MOST;
}

static EGLSyncKHR create(EGLDisplay display, EGLenum type, const EGLint* attributes) {
  if (type != EGL_SYNC_NATIVE_FENCE_ANDROID) {
    return ((PFNEGLCREATESYNCKHRPROC)real_extension("eglCreateSyncKHR"))(display, type, attributes);
  }
  struct Fence* fence = fences;
  while (fence->fd) ++fence;
  fence->fd = attributes && attributes[1] != -1 ? attributes[1] : eventfd(0, EFD_CLOEXEC);
  ++alive;
  return fence;
}

static EGLBoolean destroy(EGLDisplay display, EGLSyncKHR sync) {
  if (!is_ours(sync))
    return ((PFNEGLDESTROYSYNCKHRPROC)real_extension("eglDestroySyncKHR"))(display, sync);
  struct Fence* fence = sync;
  close(fence->fd);
  fence->fd = 0;
  --alive;
  return EGL_TRUE;
}

static EGLint wait(EGLDisplay display, EGLSyncKHR sync, EGLint flags) {
  if (!is_ours(sync))
    return ((PFNEGLWAITSYNCKHRPROC)real_extension("eglWaitSyncKHR"))(display, sync, flags);
  struct pollfd fd = {((struct Fence*)sync)->fd, POLLIN, 0};
  ++waits;
  return poll(&fd, 1, 5000) == 1;
}

static void* come(void* fd) {
  const char* delay = getenv("FENCES_DELAY_MS");
  usleep(1000 * (useconds_t)atoi(delay ? delay : "0"));
  const uint64_t one = 1;
  if (write((int)(intptr_t)fd, &one, sizeof(one)) < 0) abort();
  close((int)(intptr_t)fd);
  return NULL;
}

static EGLint duplicate(EGLDisplay display, EGLSyncKHR sync) {
  (void)display;
  pthread_t thread;
  const int fd = ((struct Fence*)sync)->fd;
  if (pthread_create(&thread, NULL, come, (void*)(intptr_t)dup(fd)) != 0) abort();
  pthread_detach(thread);
  return dup(fd);
}

const char* eglQueryString(EGLDisplay display, EGLint name) {
  static char text[8192];
  const char* found = ((const char* (*)(EGLDisplay, EGLint))real("eglQueryString"))(display, name);
  if (name != EGL_EXTENSIONS || display == EGL_NO_DISPLAY || !found) return found;
  snprintf(text, sizeof(text), "%s EGL_ANDROID_native_fence_sync", found);
  return text;
}

__eglMustCastToProperFunctionPointerType eglGetProcAddress(const char* name) {
  const struct {
    const char* name;
    void* function;
  } named[] = {{"eglCreateSyncKHR", create},
               {"eglDestroySyncKHR", destroy},
               {"eglDupNativeFenceFDANDROID", duplicate},
               {"eglWaitSyncKHR", wait}};
  for (size_t i = 0; i < sizeof(named) / sizeof(*named); ++i) {
    if (strcmp(name, named[i].name) == 0)
      return (__eglMustCastToProperFunctionPointerType)named[i].function;
  }
  return (__eglMustCastToProperFunctionPointerType)real_extension(name);
}

// Waits of contexts; fences that are alive.
void FencesReport(int* counts) { counts[0] = waits, counts[1] = alive; }
