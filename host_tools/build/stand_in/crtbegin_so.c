// What every library starts with: the handle that atexit functions go by, and the API level it was built for.
#include <stdint.h>

extern void __cxa_finalize(void*);

__attribute__((visibility("hidden"))) void* __dso_handle = &__dso_handle;

__attribute__((destructor)) static void finalize(void) { __cxa_finalize(&__dso_handle); }

__attribute__((section(".note.android.ident"), used, aligned(4))) static const struct {
  uint32_t name_size, description_size, type;
  char name[8];
  uint32_t api_level;
} ident = {8, 4, 1, "Android", __ANDROID_API__};
