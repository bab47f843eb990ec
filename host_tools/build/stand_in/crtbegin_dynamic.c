// What every executable starts with: the system's loader jumps to _start with the arguments on the stack, and the C
// library makes a call of main of them. Destructors of static objects are not called at the end.
#include <stdint.h>

struct Structors {
  void *preinit, *init, *fini;
  void* more[5];  // newer C libraries know more of them
};

extern int main(int, char**, char**);
extern _Noreturn void __libc_init(void*, void (*)(void), int (*)(int, char**, char**), const struct Structors*);

__attribute__((visibility("hidden"))) void* __dso_handle = 0;

__attribute__((visibility("hidden"), used)) void start_main(void* arguments) {
  static const struct Structors none;
  __libc_init(arguments, 0, main, &none);
}

#define START ".text; .globl _start; .type _start,%function; _start: "
#if defined(__aarch64__)
__asm__(START "mov x29, #0; mov x30, #0; mov x0, sp; b start_main; .size _start, .-_start");
#elif defined(__arm__)
__asm__(START "mov r0, sp; b start_main; .size _start, .-_start");
#elif defined(__x86_64__)
__asm__(START "xorl %ebp, %ebp; movq %rsp, %rdi; andq $-16, %rsp; call start_main; .size _start, .-_start");
#endif

__attribute__((section(".note.android.ident"), used, aligned(4))) static const struct {
  uint32_t name_size, description_size, type;
  char name[8];
  uint32_t api_level;
} ident = {8, 4, 1, "Android", __ANDROID_API__};
