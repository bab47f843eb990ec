// Tells libc++ that the C library is Bionic.
#pragma once
#include_next <features.h>
#define __BIONIC__ 1
