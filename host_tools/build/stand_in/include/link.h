// Bionic's own way to find the unwind tables of a function, on ARM.
#pragma once
#include_next <link.h>

#ifdef __arm__
#ifdef __cplusplus
extern "C" {
#endif
typedef long unsigned int* _Unwind_Ptr;
_Unwind_Ptr dl_unwind_find_exidx(_Unwind_Ptr, int*);
#ifdef __cplusplus
}
#endif
#endif
