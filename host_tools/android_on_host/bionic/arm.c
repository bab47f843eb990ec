// What 32-bit Android has otherwise: types of other sizes than glibc's. bionic_NAME as in libc.c.
#define _GNU_SOURCE
#define _LARGEFILE64_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// --- Threads. A mutex and a condition have 4 bytes, which hold the place of glibc's, made when
// they are first used. A mutex that starts as recursive is one number.

enum { kRecursive = 0x4000 };

static void* made(void** at, size_t size, void (*start)(void*, uintptr_t)) {
  void* now = __atomic_load_n(at, __ATOMIC_ACQUIRE);
  if ((uintptr_t)now > 0xffff) return now;
  void* fresh = calloc(1, size);
  if (!fresh) abort();
  start(fresh, (uintptr_t)now);
  if (__atomic_compare_exchange_n(at, &now, fresh, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    return fresh;
  }
  free(fresh);
  return now;
}

static void start_mutex(void* mutex, uintptr_t kind) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if (kind & kRecursive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(mutex, &attributes);
}

static void start_condition(void* condition, uintptr_t kind) {
  (void)kind;
  pthread_cond_init(condition, NULL);
}

static pthread_mutex_t* mutex_of(void** at) {
  return made(at, sizeof(pthread_mutex_t), start_mutex);
}
static pthread_cond_t* condition_of(void** at) {
  return made(at, sizeof(pthread_cond_t), start_condition);
}

// An attribute is a number: the type of the mutex.
int bionic_pthread_mutex_init(void** mutex, const long* attribute) {
  *mutex = (void*)(attribute && (*attribute & 3) == 1 ? kRecursive : 0);
  return 0;
}
int bionic_pthread_mutex_lock(void** mutex) { return pthread_mutex_lock(mutex_of(mutex)); }
int bionic_pthread_mutex_trylock(void** mutex) { return pthread_mutex_trylock(mutex_of(mutex)); }
int bionic_pthread_mutex_unlock(void** mutex) { return pthread_mutex_unlock(mutex_of(mutex)); }

static int end(void** at, int (*destroy)(void*)) {
  const int result = (uintptr_t)*at > 0xffff ? destroy(*at) : 0;
  if (!result && (uintptr_t)*at > 0xffff) free(*at);
  if (!result) *at = NULL;
  return result;
}

int bionic_pthread_mutex_destroy(void** mutex) {
  return end(mutex, (int (*)(void*))pthread_mutex_destroy);
}
int bionic_pthread_cond_destroy(void** condition) {
  return end(condition, (int (*)(void*))pthread_cond_destroy);
}
int bionic_pthread_cond_signal(void** condition) {
  return pthread_cond_signal(condition_of(condition));
}
int bionic_pthread_cond_broadcast(void** condition) {
  return pthread_cond_broadcast(condition_of(condition));
}
int bionic_pthread_cond_wait(void** condition, void** mutex) {
  return pthread_cond_wait(condition_of(condition), mutex_of(mutex));
}

// --- Files: sizes have 64 bits in what is read of a file, though off_t has 32.

struct Stat {
  uint64_t device;
  uint8_t pad0[4];
  uint32_t inode32, mode, links, user, group;
  uint64_t special_device;
  uint8_t pad3[4];
  int64_t size __attribute__((aligned(8)));
  uint32_t block_size;
  uint64_t blocks __attribute__((aligned(8)));
  struct timespec accessed, modified, changed;
  uint64_t inode;
};

static int given(int result, const struct stat64* from, struct Stat* to) {
  if (result) return result;
  memset(to, 0, sizeof *to);
  to->device = from->st_dev, to->special_device = from->st_rdev;
  to->inode32 = (uint32_t)from->st_ino, to->inode = from->st_ino;
  to->mode = from->st_mode, to->links = from->st_nlink;
  to->user = from->st_uid, to->group = from->st_gid;
  to->size = from->st_size, to->block_size = (uint32_t)from->st_blksize;
  to->blocks = (uint64_t)from->st_blocks;
  to->accessed = from->st_atim, to->modified = from->st_mtim, to->changed = from->st_ctim;
  return 0;
}

int bionic_stat(const char* path, struct Stat* to) {
  struct stat64 from;
  return given(stat64(path, &from), &from, to);
}
int bionic_lstat(const char* path, struct Stat* to) {
  struct stat64 from;
  return given(lstat64(path, &from), &from, to);
}
int bionic_fstat(int fd, struct Stat* to) {
  struct stat64 from;
  return given(fstat64(fd, &from), &from, to);
}

struct dirent64* bionic_readdir(DIR* folder) { return readdir64(folder); }

// --- Libraries: the flags have other numbers.

enum { kLazy = 1, kGlobal = 2, kNoLoad = 4 };

void* bionic_dlopen(const char* path, int flags) {
  return dlopen(path, (flags & kLazy ? RTLD_LAZY : RTLD_NOW) | (flags & kGlobal ? RTLD_GLOBAL : 0) |
                          (flags & kNoLoad ? RTLD_NOLOAD : 0));
}

void* bionic_dlsym(void* library, const char* name) {
  return dlsym(library == (void*)-1 ? RTLD_DEFAULT : library, name);
}

// --- Exceptions

extern uintptr_t __gnu_Unwind_Find_exidx(uintptr_t, int*);

uintptr_t bionic_dl_unwind_find_exidx(uintptr_t at, int* count) {
  return __gnu_Unwind_Find_exidx(at, count);
}
