// musl's declarations; 32-bit Bionic has flags of its own.
#pragma once
#include_next <dlfcn.h>

#ifndef __LP64__
#undef RTLD_NOW
#undef RTLD_GLOBAL
#define RTLD_NOW 0
#define RTLD_GLOBAL 2
#endif
