// What Android libraries see of stdin, stdout and stderr. It lies in the exported library, because
// a library that shows data to others must hold it; libc.c gets its place.
struct Stream {
  char bytes[sizeof(void*) == 8 ? 152 : 84];
};

struct Stream bionic___sF[3];
struct Stream* bionic_stdin = &bionic___sF[0];
struct Stream* bionic_stdout = &bionic___sF[1];
struct Stream* bionic_stderr = &bionic___sF[2];

__asm__(".symver bionic___sF,__sF@@LIBC");
__asm__(".symver bionic_stdin,stdin@@LIBC");
__asm__(".symver bionic_stdout,stdout@@LIBC");
__asm__(".symver bionic_stderr,stderr@@LIBC");

#ifdef __arm__
// What functions on 32-bit ABIs compare to see whether their frame was overwritten.
unsigned long bionic___stack_chk_guard = 0x5f3759dful;
__asm__(".symver bionic___stack_chk_guard,__stack_chk_guard@@LIBC");
#endif

extern char* bionic_sF;
__attribute__((constructor)) static void show(void) { bionic_sF = (char*)bionic___sF; }
