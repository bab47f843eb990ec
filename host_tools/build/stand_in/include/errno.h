// musl's numbers (the kernel's), Bionic's variable.
#pragma once
#include_next <errno.h>

#ifdef __cplusplus
extern "C"
#endif
    int* __errno(void);
#undef errno
#define errno (*__errno())
