// Functions of Android's C library that mean something else than glibc's of the same name, or that
// glibc lacks. bionic_NAME is what an Android library gets when it asks for NAME;
// everything that is not here is a jump to glibc (same.txt).
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char* what) {
  fprintf(stderr, "Android's C library: %s\n", what);
  abort();
}

// --- The start of an executable. Its first argument is what the kernel left on the stack.

extern int __libc_start_main(int (*)(int, char**, char**), int, char**, void (*)(void),
                             void (*)(void), void (*)(void), void*);

void bionic___libc_init(void* arguments, void (*at_exit)(void), int (*run)(int, char**, char**),
                        const void* structors) {
  (void)at_exit, (void)structors;
  const int count = (int)*(long*)arguments;
  __libc_start_main(run, count, (char**)arguments + 1, NULL, NULL, NULL, arguments);
}

// --- Errors

int* bionic___errno(void) { return &errno; }

// glibc's strerror_r is GNU's, Android's is that of POSIX, which glibc has under another name and
// does not declare here.
int __xpg_strerror_r(int number, char* buffer, size_t size);

int bionic_strerror_r(int number, char* buffer, size_t size) {
  return __xpg_strerror_r(number, buffer, size);
}

char* bionic___gnu_strerror_r(int number, char* buffer, size_t size) {
  return strerror_r(number, buffer, size);
}

void bionic_android_set_abort_message(const char* message) { fprintf(stderr, "%s\n", message); }

void bionic___assert2(const char* file, int line, const char* function, const char* what) {
  fprintf(stderr, "%s:%d: %s: assertion \"%s\" failed\n", file, line, function, what);
  abort();
}

void bionic___assert(const char* file, int line, const char* what) {
  bionic___assert2(file, line, "?", what);
}

// --- Streams. Android's stdin, stdout and stderr are elements of an array, of 152 bytes each (84
// on 32-bit ABIs); the exported library holds it (streams.c). A FILE * that Android code has is one
// of these or glibc's.

char* bionic_sF;

enum { kStream = sizeof(void*) == 8 ? 152 : 84 };

static FILE* stream(FILE* f) {
  const ptrdiff_t at = bionic_sF ? (char*)f - bionic_sF : -1;
  return at == 0 ? stdin : at == kStream ? stdout : at == 2 * kStream ? stderr : f;
}

int bionic_vfprintf(FILE* f, const char* format, va_list list) {
  return vfprintf(stream(f), format, list);
}

int bionic_fprintf(FILE* f, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int n = vfprintf(stream(f), format, list);
  va_end(list);
  return n;
}

int bionic_fputc(int c, FILE* f) { return fputc(c, stream(f)); }
int bionic_putc(int c, FILE* f) { return fputc(c, stream(f)); }
int bionic_fputs(const char* text, FILE* f) { return fputs(text, stream(f)); }
int bionic_fgetc(FILE* f) { return fgetc(stream(f)); }
int bionic_getc(FILE* f) { return fgetc(stream(f)); }
int bionic_ungetc(int c, FILE* f) { return ungetc(c, stream(f)); }
char* bionic_fgets(char* to, int n, FILE* f) { return fgets(to, n, stream(f)); }
int bionic_fflush(FILE* f) { return fflush(f ? stream(f) : NULL); }
int bionic_feof(FILE* f) { return feof(stream(f)); }
int bionic_ferror(FILE* f) { return ferror(stream(f)); }
int bionic_fclose(FILE* f) { return fclose(stream(f)); }
int bionic_fileno(FILE* f) { return fileno(stream(f)); }
int bionic_fseek(FILE* f, long to, int from) { return fseek(stream(f), to, from); }
int bionic_fseeko(FILE* f, off_t to, int from) { return fseeko(stream(f), to, from); }
long bionic_ftell(FILE* f) { return ftell(stream(f)); }
off_t bionic_ftello(FILE* f) { return ftello(stream(f)); }

size_t bionic_fwrite(const void* from, size_t size, size_t n, FILE* f) {
  return fwrite(from, size, n, stream(f));
}

size_t bionic_fread(void* to, size_t size, size_t n, FILE* f) {
  return fread(to, size, n, stream(f));
}

// --- Functions that check the size of what they write to; the last size is that of the object.

static void check(size_t wanted, size_t has, const char* function) {
  if (wanted > has) fail(function);
}

int bionic___open_2(const char* path, int flags) { return open(path, flags); }

ssize_t bionic___read_chk(int fd, void* to, size_t n, size_t has) {
  check(n, has, "read: buffer too small");
  return read(fd, to, n);
}

ssize_t bionic___write_chk(int fd, const void* from, size_t n, size_t has) {
  check(n, has, "write: buffer too small");
  return write(fd, from, n);
}

size_t bionic___strlen_chk(const char* text, size_t has) {
  const size_t n = strlen(text);
  check(n + 1, has, "strlen: text without an end");
  return n;
}

char* bionic___strchr_chk(const char* text, int c, size_t has) {
  bionic___strlen_chk(text, has);
  return strchr(text, c);
}

char* bionic___strrchr_chk(const char* text, int c, size_t has) {
  bionic___strlen_chk(text, has);
  return strrchr(text, c);
}

void* bionic___memcpy_chk(void* to, const void* from, size_t n, size_t has) {
  check(n, has, "memcpy: buffer too small");
  return memcpy(to, from, n);
}

void* bionic___memmove_chk(void* to, const void* from, size_t n, size_t has) {
  check(n, has, "memmove: buffer too small");
  return memmove(to, from, n);
}

void* bionic___memset_chk(void* to, int byte, size_t n, size_t has) {
  check(n, has, "memset: buffer too small");
  return memset(to, byte, n);
}

char* bionic___strncpy_chk2(char* to, const char* from, size_t n, size_t has, size_t from_has) {
  check(n, has, "strncpy: buffer too small");
  (void)from_has;
  return strncpy(to, from, n);
}

int bionic___vsnprintf_chk(char* to, size_t n, int flags, size_t has, const char* format,
                           va_list list) {
  check(n, has, "vsnprintf: buffer too small");
  (void)flags;
  return vsnprintf(to, n, format, list);
}

int bionic___vsprintf_chk(char* to, int flags, size_t has, const char* format, va_list list) {
  (void)flags;
  const int n = vsnprintf(to, has, format, list);
  check((size_t)n + 1, has, "vsprintf: buffer too small");
  return n;
}

size_t bionic_strlcpy(char* to, const char* from, size_t size) {
  const size_t n = strlen(from);
  if (size) {
    const size_t copied = n < size ? n : size - 1;
    memcpy(to, from, copied);
    to[copied] = 0;
  }
  return n;
}

size_t bionic_strlcat(char* to, const char* from, size_t size) {
  const size_t n = strnlen(to, size);
  return n == size ? n + strlen(from) : n + bionic_strlcpy(to + n, from, size - n);
}

// --- Signals. Android's sigset_t is a long, glibc's has 128 bytes.

int bionic_sigemptyset(unsigned long* set) { return *set = 0, 0; }
int bionic_sigfillset(unsigned long* set) { return *set = ~0ul, 0; }
int bionic_sigaddset(unsigned long* set, int number) { return *set |= 1ul << (number - 1), 0; }
int bionic_sigdelset(unsigned long* set, int number) { return *set &= ~(1ul << (number - 1)), 0; }

static int mask(int (*set_mask)(int, const sigset_t*, sigset_t*), int how, const unsigned long* set,
                unsigned long* old) {
  sigset_t now, before;
  sigemptyset(&now);
  sigemptyset(&before);
  if (set) memcpy(&now, set, sizeof *set);
  const int result = set_mask(how, set ? &now : NULL, &before);
  if (old) memcpy(old, &before, sizeof *old);
  return result;
}

int bionic_pthread_sigmask(int how, const unsigned long* set, unsigned long* old) {
  return mask(pthread_sigmask, how, set, old);
}

int bionic_sigprocmask(int how, const unsigned long* set, unsigned long* old) {
  return mask(sigprocmask, how, set, old);
}

// --- The system. Names of sysconf have other numbers (bionic/libc/include/bits/sysconf.h).

long bionic_sysconf(int name) {
  static const struct {
    int android, glibc;
  } same[] = {
      {0x00, _SC_ARG_MAX},          {0x06, _SC_CLK_TCK},    {0x0b, _SC_OPEN_MAX},
      {0x27, _SC_PAGESIZE},         {0x28, _SC_PAGE_SIZE},  {0x60, _SC_NPROCESSORS_CONF},
      {0x61, _SC_NPROCESSORS_ONLN}, {0x62, _SC_PHYS_PAGES}, {0x63, _SC_AVPHYS_PAGES},
      {0x64, _SC_MONOTONIC_CLOCK},
  };
  for (size_t i = 0; i < sizeof same / sizeof *same; ++i) {
    if (same[i].android == name) return sysconf(same[i].glibc);
  }
  errno = EINVAL;
  return -1;
}

#define API_LEVEL "34"

// A machine that is no phone has no properties of one, but for its API level: without it TFLite's
// runtime leaves XNNPACK out.
int bionic___system_property_get(const char* name, char* value) {
  strcpy(value, strcmp(name, "ro.build.version.sdk") ? "" : API_LEVEL);
  return (int)strlen(value);
}

const void* bionic___system_property_find(const char* name) { return (void)name, NULL; }

void bionic___system_property_read_callback(const void* property, void* callback, void* cookie) {
  (void)property, (void)callback, (void)cookie;
}

int bionic_android_get_device_api_level(void) { return atoi(API_LEVEL); }

// --- Memory. XNNPACK asks for 32 bytes on Android, and reads such memory with AVX-512, where the
// machine has that, as if it had asked for 64: no phone has AVX-512, a desktop has.
static size_t at_least_64(size_t alignment) { return alignment < 64 ? 64 : alignment; }

void* bionic_memalign(size_t alignment, size_t bytes) {
  return memalign(at_least_64(alignment), bytes);
}

int bionic_posix_memalign(void** memory, size_t alignment, size_t bytes) {
  return posix_memalign(memory, at_least_64(alignment), bytes);
}

// --- The log

int bionic___android_log_write(int priority, const char* tag, const char* text) {
  (void)priority;
  return fprintf(stderr, "%s: %s\n", tag ? tag : "", text);
}

int bionic___android_log_vprint(int priority, const char* tag, const char* format, va_list list) {
  char text[4096];
  vsnprintf(text, sizeof text, format, list);
  return bionic___android_log_write(priority, tag, text);
}

int bionic___android_log_print(int priority, const char* tag, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int n = bionic___android_log_vprint(priority, tag, format, list);
  va_end(list);
  return n;
}

void bionic___android_log_assert(const char* condition, const char* tag, const char* format, ...) {
  va_list list;
  va_start(list, format);
  if (format) bionic___android_log_vprint(7, tag, format, list);
  va_end(list);
  fail(condition ? condition : "an assertion failed");
}
