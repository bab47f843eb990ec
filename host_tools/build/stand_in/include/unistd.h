// musl's declarations, Bionic's numbers of what sysconf is asked for.
#pragma once
#include_next <unistd.h>

#undef _SC_PAGESIZE
#undef _SC_PAGE_SIZE
#undef _SC_NPROCESSORS_CONF
#undef _SC_NPROCESSORS_ONLN
#define _SC_PAGESIZE 0x27
#define _SC_PAGE_SIZE 0x28
#define _SC_NPROCESSORS_CONF 0x60
#define _SC_NPROCESSORS_ONLN 0x61
